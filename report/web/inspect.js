// The page of inspect: what a kernel cost and what was found, at the lines of its source.

// The counters that can heat the source: each by its first column's key.
const HEATS = [
    {value: "instructions", text: "Instructions", columns: [
        {key: "instructions", title: "warp instr."},
        {key: "thread_instructions", title: "thread instr."},
        {key: "lanes", title: "lanes %"}]},
    {value: "divergence", text: "Divergence", columns: [
        {key: "divergent_branches", title: "divergent"},
        {key: "branches", title: "branches"},
        {key: "lanes", title: "lanes %"}]},
    {value: "requests", text: "Global requests", columns: [
        {key: "global_requests", title: "requests"},
        {key: "global_sectors", title: "sectors"},
        {key: "global_accesses", title: "accesses"},
        {key: "used", title: "used %"}]},
    {value: "conflicts", text: "Bank conflicts", columns: [
        {key: "excess", title: "extra wavefronts"},
        {key: "shared_wavefronts", title: "wavefronts"},
        {key: "shared_accesses", title: "accesses"},
        {key: "bank_degree", title: "degree", term: "bank degree"}]},
    {value: "waits", text: "Atomics and barriers", columns: [
        {key: "atomics", title: "atomics"},
        {key: "shuffles", title: "shuffles"},
        {key: "barriers", title: "barriers"}]},
];

// What a kind of advice is about: the heat that shows it, and the counts; of a kind that is not here, instructions.
const OF_ADVICE = {
    "bank-conflict": {heat: "conflicts", counts: ["shared_wavefronts", "bank_degree"]},
    "uncoalesced": {heat: "requests", counts: ["global_sectors", "coalescing"]},
    "contended-atomic": {heat: "waits", counts: ["atomics"]},
    "divergence": {heat: "divergence", counts: ["divergent_branches", "utilization"]},
    "redundant-barrier": {heat: "waits", counts: ["barriers"]},
    "repeated-work": {heat: "requests", counts: ["global_sectors"]},
    "plain-first-read": {heat: "waits", counts: ["atomics"]},
};
const ofAdvice = advice => OF_ADVICE[advice.kind] || {heat: "instructions", counts: []};

// A line's counts and what follows from them.
function withShares(counts, warpSize) {
    const percent = (part, whole) => whole ? Math.round(1000 * part / whole) / 10 : 0;
    return {
        ...counts,
        lanes: percent(counts.thread_instructions, counts.instructions * warpSize),
        used: percent(counts.global_bytes, counts.global_sectors * 32),
        excess: counts.shared_wavefronts - counts.shared_wavefronts_least,
    };
}

// ---- what can be listed

// Every text that there is: the sources' and the PTX's, each with its counts by line.
function listTexts(data) {
    const texts = data.sources.map(source => ({
        name: source.file, text: source.text, isPtx: source.text !== null && source.text === data.ptx,
        counts: new Map(data.lines.filter(line => line.file === source.file)
            .map(line => [line.line, withShares(line, data.warp)])),
        lineOf: place => data.sources[place.source].file === source.file ? place.line : 0,
    }));
    if (!texts.some(text => text.isPtx)) texts.push({
        name: "PTX", text: data.ptx, isPtx: true,
        counts: new Map(data.instruction_list.map(line => [line.ptx_line, withShares(line, data.warp)])),
        lineOf: place => place.ptx_line,
    });
    return texts.sort((a, b) => (a.text === null) - (b.text === null)); // what can be shown first
}

// Where an instruction of the PTX comes from.
function listPlaces(data) {
    const places = new Map(data.instruction_list.map(line => [line.ptx_line, line]));
    for (const finding of data.findings) {
        const source = data.sources.findIndex(entry => entry.file === finding.file);
        const {line, ptx_line} = finding;
        if (!places.has(ptx_line)) places.set(ptx_line, {source, line, ptx_line, opcode: ""});
    }
    return places;
}

// ---- the listing

// Where another text has the first instruction of a line; the hottest line, where it has none.
function counterpart(data, before, line, text) {
    const place = line && data.instruction_list.find(entry => before.lineOf(entry) === line && text.lineOf(entry));
    return place ? text.lineOf(place) : hottestLine(text);
}

// One text at a time, heated by one counter.  chooseLine(text, line) is called for a line that is clicked.
function makeListing(data, texts, findings, chooseLine) {
    const box = listingBox();
    let shown = texts[0], heat = HEATS[0], listing = null, chosen = 0, pointed = null;

    function draw() {
        if (shown.text === null) {
            listing = null;
            box.replaceChildren(element("p", null,
                `${shown.name} cannot be shown: it could not be read, or is too long.`));
            return;
        }
        listing = makeSource(shown.text, heat.columns, line => chooseLine(shown, line));
        listing.count(shown.counts);
        for (const row of listing.node.rows) { // counts first: lines of source may be long
            row.querySelector(".text").before(...row.querySelectorAll(".count"));
            if (!shown.counts.has(Number(row.dataset.line))) // of no interest on the way through with Tab
                row.querySelector("button")?.setAttribute("tabindex", "-1");
        }
        const key = heat.columns[0].key;
        const most = Math.max(1, ...[...shown.counts.values()].map(line => line[key]));
        for (const [line, counts] of shown.counts) {
            const row = listing.row(line);
            if (!row) continue;
            row.classList.toggle("heated", counts[key] > 0);
            row.style.setProperty("--heat", counts[key] / most);
        }
        for (const advice of data.advice)
            if (advice.file === shown.name && listing.row(advice.line))
                listing.note(advice.line, "advised", "!", `${advice.kind}: ${advice.message}; cure: ${advice.cure}`);
        for (const finding of findings) {
            const own = shown.lineOf(finding.place), lines = own === finding.line ? linesOfFinding(finding) : [own];
            for (const line of lines)
                if (line && listing.has(line)) listing.note(line, "wrong", "✕", `${finding.kind}: ${finding.message}`);
        }
        box.replaceChildren(listing.node);
        markChosen();
        markPointed();
    }
    function markChosen() {
        for (const row of box.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
        const row = listing && chosen ? listing.row(chosen) : null;
        if (row) row.classList.add("chosen");
    }
    function markPointed() {
        const line = pointed ? shown.lineOf(pointed) : 0;
        if (listing) listing.point(line ? [line] : []);
        return line;
    }
    function showLine(line) {
        if (!listing || !listing.has(line)) return;
        const row = listing.row(line);
        const above = row.offsetTop - box.scrollTop;
        if (above < 40 || above > box.clientHeight - row.offsetHeight) reveal(box, row);
    }
    const textChoice = makeChoice("Text", texts.map((text, i) => ({
        value: String(i), text: text.name.split("/").pop(), title: text.name,
    })), value => {
        const before = shown, line = chosen;
        shown = texts[Number(value)];
        if (shown !== before) chosen = 0;
        draw();
        if (shown !== before) showLine(counterpart(data, before, line, shown));
    });
    const heatChoice = makeChoice("Heat by", HEATS, value => {
        heat = HEATS.find(entry => entry.value === value);
        draw();
        showLine(chosen);
    });
    return {
        node: element("div", null, element("div", {class: "bar-row"}, heatChoice.node, textChoice.node), box),
        choose(text, line) {
            if (text !== shown) textChoice.select(String(texts.indexOf(text)));
            chosen = line;
            markChosen();
            showLine(line);
        },
        heatBy(value) { heatChoice.select(value); },
        // Marks where the replay is, in whatever text is shown.
        point(place) {
            pointed = place;
            const line = markPointed();
            if (line) showLine(line);
        },
        get shown() { return shown; },
    };
}

// ---- one line

const LINE_FACTS = [
    ["instructions", "warp instructions"], ["thread_instructions", "thread instructions"],
    ["lanes", "active lanes, %"],
    ["branches", "conditional branches"], ["divergent_branches", "divergent branches"],
    ["global_accesses", "global accesses"], ["global_requests", "requests (128-byte lines)"],
    ["global_sectors", "sectors (32 bytes)"], ["used", "used of the bytes fetched, %"],
    ["shared_accesses", "shared accesses"], ["shared_wavefronts", "wavefronts"],
    ["bank_degree", "bank conflict degree"],
    ["atomics", "atomic operations"], ["shuffles", "shuffles"], ["barriers", "barriers"],
];

// entries: [key, name, value]
function makeFacts(entries, id) {
    return element("dl", {class: "facts", id}, entries.map(([key, name, value, best]) =>
        element("div", {"data-key": key}, element("dt", null, withTerms(name), best ? element("small", null, best) : null),
                element("dd", null, numeral(value)))));
}

function makeLineDetail(data, text, line) {
    const counts = text.counts.get(line);
    const words = text.text === null ? "" : (text.text.split("\n")[line - 1] || "").trim();
    const head = element("p", null, element("b", null, `${text.name}:${line}`), " ",
                         element("code", null, words));
    if (!counts) return [head, element("p", {class: "faint"}, "This line was not executed.")];
    const facts = LINE_FACTS.filter(([key]) => counts[key]).map(([key, name]) => [key, name, counts[key]]);
    const ptx = data.instruction_list.filter(place => text.lineOf(place) === line);
    return [head, makeFacts(facts), text.isPtx ? null : makeInstructions(data, ptx)];
}

function makeInstructions(data, places) {
    const row = place => [place.ptx_line, place.instructions, withShares(place, data.warp).lanes,
                          {text: ptxText(data, place.ptx_line) || place.opcode, class: "words"}];
    const box = scroller("Its instructions", makeTable("Its instructions in the PTX", ["line", "warp instr.", "lanes %", "instruction"],
                                                       places.map(row)));
    box.classList.add("of-line");
    return box;
}

const ptxLines = new WeakMap();

function ptxText(data, line) {
    if (data.ptx === null) return "";
    if (!ptxLines.has(data)) ptxLines.set(data, data.ptx.split("\n"));
    return (ptxLines.get(data)[line - 1] || "").trim().replace(/\s+/g, " ");
}

// ---- the page

// Of which the text says, too, what is best.
const BEST_COUNTS = {divergent_branches: "0 is best", utilization: "1 is best", coalescing: "1 is best", bank_degree: "1 is best"};

const MAIN_COUNTS = ["instructions", "divergent_branches", "utilization", "global_sectors", "global_requests",
                     "coalescing", "shared_wavefronts", "bank_degree", "barriers", "atomics"];

function makeMainCounts(data) {
    const title = name => name === "utilization" ? "share of active lanes" : name.replaceAll("_", " ");
    const facts = makeFacts(MAIN_COUNTS.map(name => [name, title(name), data[name], BEST_COUNTS[name]]), "counts");
    const hot = new Set(data.advice.flatMap(advice => ofAdvice(advice).counts));
    for (const fact of facts.children) fact.classList.toggle("hot", hot.has(fact.dataset.key));
    return facts;
}

function makeSummary(data) {
    const extent = values => values.join(" × ");
    return panel("Summary",
        element("p", {class: "launch"}, element("code", null, data.path),
                ` · grid ${extent(data.grid)} · block ${extent(data.block)} · schedule ${data.schedule}`,
                ` · ${data.warp} lanes, ${data.banks} banks`),
        data.stopped ? element("p", null, "The launch was stopped here; the counts are up to this point.") : null,
        makeMainCounts(data),
        data.printed ? element("details", null, element("summary", null, "What the kernel printed"),
                               element("pre", {class: "scroll"}, data.printed)) : null,
        element("details", {class: "no-print"}, element("summary", null, "All counts"),
                scroller("All counts", makeTable("Counts", ["name", "count"], Object.entries(data.counts)))));
}

// A button that shows the line; choose(advice) is called for it.
function makeAdvice(data, advice, choose) {
    return element("button", {type: "button", class: "advice", onclick: () => choose(advice)},
        element("b", null, advice.kind), ` at ${advice.file.split("/").pop()}:${advice.line}`, quoteLines(data, advice),
        withCode(advice.message), element("br"), withCode(`Cure: ${advice.cure}`));
}

// What is not as it was told that it must be: it comes first.
function makeWrong(data) {
    const wrong = (data.values || []).filter(values => values.wrong);
    return !wrong.length ? "" : panel("Wrong result",
        element("ul", {class: "findings"}, wrong.map(values => element("li", {class: "wrong-result"}, element("b", null, values.message)))),
        element("p", {class: "faint"}, data.findings.length ? "" : withCode(
            "The simulator found no race and no other fault: the kernel computes something else. Print what it has stored (`--print K`), or step through a small block by hand.")));
}

// What was found, and what is advised; each is a button.
function makeProblems(data, findings, showAdvice) {
    const advice = data.advice.map(advice => makeAdvice(data, advice, showAdvice));
    const list = buttons => element("ul", {class: "findings"}, buttons.map(button => element("li", null, button)));
    const expected = (data.values || []).filter(values => "wrong" in values), isWrong = expected.some(values => values.wrong);
    const isGood = expected.length && !isWrong && !findings.length && !advice.length;
    const none = element("p", {class: isGood ? "none" : "faint"}, isGood ? "no findings, and the result is as expected"
        : isWrong ? "no findings, but the result is wrong"
        : advice.length ? "no findings: it may be right, but not yet fast" : "no findings: it may be right");
    const judged = element("p", {class: "faint"}, withCode(
        "With these arguments the simulator met no race, no access out of bounds and no missing barrier." +
        (expected.length ? "" : " `--expect` or `warpfold judge` tells whether the result is right.")));
    if (isWrong && !findings.length && !advice.length) return ""; // makeWrong has said so
    return element("div", {class: advice.length && findings.length ? "columns two" : "columns"},
        findings.length ? panel(plural(findings.length, "finding"), list(findings)) : advice.length ? "" : panel("Findings", none, judged),
        advice.length ? panel("Advice", findings.length ? "" : none, list(advice)) : "");
}

const DOCS = ["findings.md", "glossary.md"];

const PAGE_TERMS = ["active lane", "atomic", "bank", "bank conflict", "bank degree", "barrier", "divergence", "finding", "lane", "race", "request",
                    "sector", "shuffle", "warp", "wavefront", "word"];

// A wrong result, which is short, and what explains it.
function beside(wrong, problems) {
    return wrong && problems ? element("div", {class: "columns wrong-and-found"}, wrong, problems) : wrong || problems;
}

function hottestLine(text) {
    const most = Math.max(...[...text.counts.values()].map(line => line.instructions));
    return [...text.counts.keys()].find(line => text.counts.get(line).instructions === most) || 0;
}

// Where a wrong result is stored: the last line executed that writes to global memory; 0: none does.
function storingLine(data, text) {
    const stores = data.instruction_list.filter(entry => entry.instructions && text.lineOf(entry) &&
        /^(st|red|atom)\b(?!.*\.(shared|local|param))/.test(entry.opcode));
    return stores.length ? text.lineOf(stores[stores.length - 1]) : 0;
}

function showPage(data, main) {
    const texts = listTexts(data), places = listPlaces(data);
    const findings = data.findings.map((finding, index) =>
        ({...finding, index, place: places.get(finding.ptx_line)}));
    const detail = element("div", {"aria-live": "polite"});
    const listing = makeListing(data, texts, findings, showLine);
    const replay = makeReplay(data, places, listing);

    function showLine(text, line) {
        listing.choose(text, line);
        detail.replaceChildren(...makeLineDetail(data, text, line).filter(Boolean));
    }
    function showFinding(finding) {
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === finding.index)));
        const text = listing.shown.lineOf(finding.place) ? listing.shown
            : texts.find(entry => entry.text !== null && entry.lineOf(finding.place)) || listing.shown;
        showLine(text, text.lineOf(finding.place));
        replay.show(finding);
    }
    function showAdvice(advice) {
        const text = texts.find(entry => entry.name === advice.file && entry.text !== null);
        const place = data.instruction_list.find(entry =>
            entry.line === advice.line && data.sources[entry.source].file === advice.file);
        listing.heatBy(ofAdvice(advice).heat);
        if (text) showLine(text, advice.line);
        else if (place) showLine(texts.find(entry => entry.isPtx), place.ptx_line);
    }
    const buttons = findings.map(finding => element("button",
        {type: "button", class: "finding", "aria-pressed": "false", onclick: () => showFinding(finding)},
        element("b", null, finding.kind), ` at ${finding.file.split("/").pop()}:${finding.line}`,
        tellOccurrences(finding), quoteLines(data, finding), withCode(finding.message)));

    main.classList.add("inspect");
    const wrong = makeWrong(data), summary = makeSummary(data);
    const source = element("div", {class: `columns source-and-line${findings.length ? " has-replay" : ""}`}, panel("Source", listing.node),
        findings.length ? panel("Replay", replay.node) : "", panel("Line", detail));
    // Where something is wrong or advised, its line comes before the counts.
    const hasLine = wrong || findings.length || data.advice.length;
    main.append(beside(wrong, makeProblems(data, buttons, showAdvice)), ...(hasLine ? [source, summary] : [summary, source]),
        makeTermsPanel(PAGE_TERMS, data));
    if (findings.length && data.advice.length) listing.heatBy(ofAdvice(data.advice[0]).heat);
    const stored = wrong ? storingLine(data, listing.shown) : 0;
    if (findings.length) showFinding(findings[0]);
    else if (stored) showLine(listing.shown, stored);
    else if (data.advice.length) showAdvice(data.advice[0]);
    else showLine(listing.shown, hottestLine(listing.shown));
}
