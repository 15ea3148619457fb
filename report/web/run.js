// The page of run: what the kernels of a program cost, what was found, and what was executed of its sources.

const DOCS = ["programs.md", "findings.md"];

// The counters that can heat a source: each by its first column's key.
const HEATS = [
    {value: "instructions", text: "Instructions", columns: [
        {key: "instructions", title: "warp instr."},
        {key: "lanes", title: "lanes %"}]},
    {value: "divergence", text: "Divergence", columns: [
        {key: "divergent_branches", title: "divergent"},
        {key: "branches", title: "branches"}]},
    {value: "requests", text: "Global requests", columns: [
        {key: "global_requests", title: "requests"},
        {key: "global_sectors", title: "sectors"}]},
    {value: "conflicts", text: "Bank conflicts", columns: [
        {key: "excess", title: "extra wavefronts"},
        {key: "shared_wavefronts", title: "wavefronts"}]},
    {value: "atomics", text: "Atomics", columns: [{key: "atomics", title: "atomics"}]},
];

// By which of them a kind of advice shows.
const HEAT_OF_ADVICE = {"bank-conflict": "conflicts", "uncoalesced": "requests", "divergence": "divergence",
                        "contended-atomic": "atomics"};

const PAGE_TERMS = ["atomic", "bank", "bank conflict", "barrier", "block", "divergence", "lane", "race", "request", "sector", "warp", "wavefront"];

const WARP = 32;

const percent = (part, whole) => whole ? Math.round(1000 * part / whole) / 10 : 0;

// ---- kernels

function shareCell(part) {
    const bar = element("span", {class: "bar", "aria-hidden": "true"});
    bar.style.setProperty("--part", part);
    return {text: element("span", null, `${percent(part, 1)} %`, bar), class: "share"};
}

function makeKernels(data) {
    const all = data.kernels.reduce((sum, kernel) => sum + kernel.instructions, 0);
    const slowest = [...data.kernels].sort((a, b) => b.instructions - a.instructions);
    const table = makeTable("Most warp instructions first",
        ["kernel", "launches", "warp instructions", "of all", "lanes %", "sectors", "wavefronts", "least wavefronts", "barriers",
         "atomics"].map(termed),
        slowest.map(kernel => [kernel.kernel, kernel.launches, kernel.instructions,
            shareCell(all ? kernel.instructions / all : 0), percent(kernel.utilization, 1), kernel.global_sectors,
            kernel.shared_wavefronts, kernel.shared_wavefronts_least, kernel.barriers, kernel.atomics]));
    table.classList.add("kernels");
    return panel("Kernels", scroller("Kernels", table));
}

// ---- sources

// Each with its counts by line, and the lines whose code no launch executed.
function listSources(data) {
    return data.sources.map(source => {
        const coverage = data.coverage.find(entry => entry.file === source.file);
        const lines = data.lines.filter(line => line.file === source.file && line.instructions);
        return {
            ...source, coverage,
            counts: new Map(lines.map(line => [line.line, {
                ...line, lanes: percent(line.thread_instructions, line.instructions * WARP),
                excess: line.shared_wavefronts - line.shared_wavefronts_least,
            }])),
        };
    }).filter(source => source.coverage);
}

function tellCoverage(coverage) {
    const missed = coverage.lines - coverage.executed;
    return `${coverage.executed} of ${coverage.lines} lines with code were executed` +
        (missed ? `; ${missed}, marked ○, ${missed === 1 ? "was" : "were"} not.` : ".");
}

function makeListing(data, sources) {
    const box = listingBox(), told = element("p", {"aria-live": "polite"});
    let shown = sources[0], heat = HEATS[0], listing = null;

    function draw() {
        const key = heat.columns[0].key;
        listing = makeSource(shown.text, heat.columns);
        listing.count(shown.counts);
        for (const row of listing.node.rows) row.querySelector(".text").before(...row.querySelectorAll(".count"));
        const most = Math.max(1, ...[...shown.counts.values()].map(line => line[key]));
        for (const [line, counts] of shown.counts) {
            if (!listing.has(line)) continue;
            listing.row(line).classList.toggle("heated", counts[key] > 0);
            listing.row(line).style.setProperty("--heat", counts[key] / most);
        }
        const note = (entries, name, mark, words) => {
            for (const entry of entries)
                if (entry.file === shown.file && listing.has(entry.line))
                    listing.note(entry.line, name, mark, words(entry));
        };
        note(shown.coverage.not_executed.map(line => ({file: shown.file, line})), "missed", "○", () => "not executed");
        note(data.advice, "advised", "!", advice => `${advice.kind}: ${advice.message}; cure: ${advice.cure}`);
        note(data.findings, "wrong", "✕", finding => `${finding.kind}: ${finding.message}`);
        told.textContent = tellCoverage(shown.coverage);
        box.replaceChildren(listing.node);
    }
    const fileChoice = makeChoice("File", sources.map((source, i) => ({
        value: String(i), text: source.file.split("/").pop(), title: source.file,
    })), value => {
        shown = sources[Number(value)];
        draw();
    });
    const heatChoice = makeChoice("Heat by", HEATS, value => {
        heat = HEATS.find(entry => entry.value === value);
        draw();
    });
    return {
        node: panel("Sources", element("div", {class: "bar-row"}, heatChoice.node, fileChoice.node), told, box),
        // What was found or advised: at its line; what was advised, heated by what it is about.
        show(place) {
            if (HEAT_OF_ADVICE[place.kind]) heatChoice.select(HEAT_OF_ADVICE[place.kind]);
            const index = sources.findIndex(source => source.file === place.file);
            if (index < 0) return;
            fileChoice.select(String(index));
            if (!listing.has(place.line)) return;
            for (const row of box.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
            const row = listing.row(place.line);
            row.classList.add("chosen");
            reveal(box, row);
        },
    };
}

// ---- findings and advice

function makeEntries(data, title, none, entries, words, choose) {
    if (!entries.length) return panel(title(0), element("p", {class: "faint"}, none));
    return panel(title(entries.length), element("ul", {class: "findings"}, entries.map(entry => element("li", null, words(data, entry, choose)))));
}

// What was found, memory that was not freed at last, which has no place.
function listFindings(data) {
    if (!data.leaks) return data.findings;
    const message = `${plural(data.leaks, "allocation")} of device memory, ${numeral(data.leaked_bytes)} bytes, ` +
        "not freed when the program ended: call cudaFree";
    return [...data.findings, {kind: "leak", message, count: 1}];
}

function findingButton(data, finding, choose) {
    const place = finding.file ? ` in ${finding.kernel} at ${placeOf(finding)}` : "";
    return element("button", {type: "button", class: "finding", onclick: () => choose(finding)},
        element("b", null, finding.kind), place + tellOccurrences(finding), quoteLines(data, finding), withCode(finding.message));
}

// In the host's code without a line, the address in the program's file.
function placeOf({file, line}) {
    return line ? `${file}:${line}` : file;
}

function adviceButton(data, advice, choose) {
    return element("button", {type: "button", class: "advice", onclick: () => choose(advice)},
        element("b", null, advice.kind), ` in ${advice.kernel} at ${placeOf(advice)}`, quoteLines(data, advice),
        withCode(advice.message), element("br"), withCode(`Cure: ${advice.cure}`));
}

// ---- the page

function listFailures(data) {
    const say = failure => element("li", null, element("code", null, failure.call), (failure.line ? ` at ${placeOf(failure)}` : "") + ` failed: ${failure.error} (${failure.text})` +
        (failure.reason ? `: ${failure.reason}` : "") + (failure.count > 1 ? `, ${numeral(failure.count)} times` : ""));
    return data.failed_calls.length ? [element("p", null, "Calls that failed, of which ", element("code", null, "cudaGetLastError()"),
        " has not told the program:"), element("ul", null, data.failed_calls.map(say))] : [];
}

/** Of launches that did not run, those that are not told of as calls that failed. */
function sayRefused(data) {
    const told = data.failed_calls.reduce((sum, failure) => sum + failure.refused_launches, 0);
    const refused = data.refused_launches - told;
    return refused > 0 ? element("p", null, `${plural(refused, told ? "other launch" : "launch", told ? "other launches" : "launches")} did not run.`) : null;
}

function sayLeftOut({findings_left_out: count}) {
    return count ? element("p", null, `${plural(count, "more finding")} had no room in this report.`) : null;
}

function makeSummary(data) {
    const launches = data.kernels.reduce((sum, kernel) => sum + kernel.launches, 0);
    const end = data.signal ? `ended by signal ${data.signal}` : `status ${data.status}`;
    return panel("Summary",
        element("p", null, element("code", null, data.program), ` on a simulated ${data.gpu} · ${end} · `,
                `${plural(data.kernels.length, "kernel")}, ${plural(launches, "launch", "launches")}`),
        ...listFailures(data), sayRefused(data), sayLeftOut(data));
}

function showPage(data, main) {
    const sources = listSources(data), listing = sources.length ? makeListing(data, sources) : null;
    const choose = place => listing && listing.show(place);
    main.classList.add("run");
    main.append(makeSummary(data), element("div", {class: "columns two"},
        makeEntries(data, count => count ? plural(count, "finding") : "Findings", "no findings; only the program itself can say whether its results are right", listFindings(data), findingButton, choose),
        makeEntries(data, count => count > 1 ? `${count} pieces of advice` : "Advice", "no advice", data.advice, adviceButton, choose)), makeKernels(data),
        listing ? listing.node : panel("Sources", element("p", null,
            "No source can be shown: compile with -lineinfo, and run beside the sources.")),
        makeTermsPanel(PAGE_TERMS));
    const first = [...data.findings, ...data.advice].find(entry => entry.file);
    // The counts of the first advice, and, where something was found, the line of that.
    const [advice] = data.advice.filter(entry => first && entry.file === first.file);
    if (advice) choose(advice);
    if (first && first !== advice) choose(first);
}
