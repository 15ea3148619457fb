// The page of the ladder: all rungs side by side, their counts as charts, what changed from one to the next.

const DOCS = ["ladder.md", "glossary.md"];

// Whatever a run may tell of a rung; those of which none is told are left out.  goal: which is better; timed: times differ a
// little from run to run.
const METRICS = [
    {key: "per_element", text: "picoseconds per element", goal: "less", digits: 4, timed: true},
    {key: "gbps", text: "GB/s", goal: "more", digits: 3, timed: true},
    {key: "share", text: "share of the ceiling, %", goal: "more", unit: 0.01, decimals: 1, timed: true},
    {key: "microseconds", text: "microseconds", goal: "less", digits: 4, timed: true},
    {key: "gain_in_all", text: "gain on the first rung", goal: "more", digits: 4, timed: true},
    {key: "steps", text: "steps", goal: "less"},
    {key: "instructions", text: "warp instructions", goal: "less"},
    {key: "utilization", text: "active lanes, %", goal: "more", unit: 0.01, decimals: 1},
    {key: "divergent_branches", text: "divergent branches", goal: "less"},
    {key: "global_requests", text: "global requests", goal: "less"},
    {key: "global_sectors", text: "global sectors", goal: "less"},
    {key: "shared_wavefronts", text: "shared wavefronts", goal: "less"},
    {key: "bank_degree", text: "bank conflict degree", goal: "less", decimals: 2},
    {key: "barriers", text: "block barriers", goal: "less"},
    {key: "atomics", text: "atomic operations", goal: "less"},
    {key: "races", text: "races", goal: "less"},
    {key: "launches", text: "launches", goal: "less"},
    {key: "ulp", text: "error on random data, ulp", goal: "less"},
];

// undefined: not told.
function valueOf(row, metric) {
    const value = row[metric.key];
    if (typeof value !== "number") return undefined;
    const told = value / (metric.unit || 1);
    if (metric.digits) return Number(told.toPrecision(metric.digits));
    return metric.decimals === undefined ? told : Number(told.toFixed(metric.decimals));
}

// As the page writes it: as many digits, or decimals, as its neighbours have.
function textOf(row, metric) {
    const value = valueOf(row, metric);
    if (value === undefined) return undefined;
    if (metric.digits && Math.abs(value) < 1000) return value.toPrecision(metric.digits);
    return metric.decimals === undefined ? numeral(value) : value.toFixed(metric.decimals);
}

// ---- runs and rungs

// The file may hold one run, several, or lists of them.
function listRuns(values) {
    return values.flat(Infinity).flatMap(value => Array.isArray(value.tables) ? value.tables : [value])
        .filter(run => Array.isArray(run.rungs));
}

// What the first comment of a rung's source tells.
function readComment(source) {
    const comment = [];
    for (const line of source.split("\n")) {
        if (!line.startsWith("//")) break;
        comment.push(line.replace(/^\/\/ ?/, ""));
    }
    const told = {title: comment[0] || "", idea: [], fixes: "", of: "", costs: ""};
    let field = null;
    for (const line of comment.slice(1)) {
        const found = line.match(/^(Fixes|Still costs|From|[A-Z][A-Za-z ]*?)(?: in (\d\d))?: *(.*)$/);
        if (found) {
            field = {"Fixes": "fixes", "Still costs": "costs"}[found[1]] || "other";
            told[field] = found[3];
            if (found[2]) told.of = found[2];
        } else if (line.trim() === "") {
            if (field === null) told.idea.push("");
            else field = "other";
        } else if (field === null) told.idea.push(line);
        else told[field] += " " + line.trim();
    }
    told.idea = told.idea.join("\n").trim().split(/\n\n+/).map(text => text.replace(/\n/g, " "));
    return told;
}

// The rungs that the run has, each with its row, and what its source tells where this program knows it.
function joinRungs(run, rungs) {
    return run.rungs.map(told => {
        const isTimed = typeof told.microseconds === "number" && run.n > 0;
        const row = isTimed ? {...told, per_element: told.microseconds * 1e6 / run.n} : told;
        const id = `${row.rung}_${row.name}`, known = rungs.find(rung => rung.id === id);
        const source = known ? known.source : "", tree = known ? known.tree : null;
        return {row, id, source, tree, told: readComment(source)};
    });
}

// Words of a comment, in which `this` is code.
function words(text) {
    return text.split("`").map((part, i) => i % 2 ? element("code", null, part) : part);
}

function verdictOf(row) {
    if (row.verified === false) return {text: "NO", class: "wrong"};
    return row.verified ? "yes" : "not run";
}

// Of whole numbers that may be long.
const grouped = number => number.toLocaleString("en");

function tellRun(run) {
    const where = run.device === "simt" ? "on the simulator" : `on ${run.gpu || run.device}`;
    const counted = run.counted_n !== run.n && run.counted_n, checked = run.checked_n < run.n && run.checked_n;
    const place = checked && checked === counted ? "it" : `a run of ${grouped(checked || 0)} elements`;
    const simulated = [counted && `counted a run of ${grouped(counted)} elements`, checked && `looked for races in ${place}`].filter(Boolean);
    return `${run.op} of ${grouped(run.n)} ${run.type} ${where}, blocks of ${run.block} threads.` +
        (simulated.length ? ` The simulator ${simulated.join(" and ")}.` : "");
}

const NOISE = 0.01;

// "better", "worse", or null where there is no change to tell of.
function changeOf(old, value, metric) {
    if (old === undefined || value === undefined || old === value) return null;
    if (metric.timed && Math.abs(value - old) < NOISE * old) return null;
    return (metric.goal === "less") === (value < old) ? "better" : "worse";
}

// ---- all of them

// "Fixes in 04: ..."
function tellFix(rung, name, mark) {
    const {fixes, of} = rung.told;
    if (!fixes) return null;
    const what = of ? `Fixes in ${of}: ` : "Fixes: ";
    return element(name, {class: "change"}, element("b", {class: "fixes"}, mark + what), words(fixes));
}

function makeCards(rungs, choose) {
    const cards = rungs.map((rung, i) => element("button",
        {type: "button", class: "card", "aria-pressed": "false", "data-rung": rung.row.rung,
         onclick: () => choose(i)},
        element("b", null, `${rung.row.rung} ${rung.told.title || rung.row.name}`),
        rung.tree ? drawTree(rung.tree, false) : element("span", {class: "faint"}, "no tree is known"),
        tellFix(rung, "span", ""),
        rung.row.verified === false ? element("span", {class: "wrong"}, "✕ not verified") : null));
    return {
        node: element("ul", {class: "cards"}, cards.map(card => element("li", null, card))),
        mark: index => cards.forEach((card, i) => card.setAttribute("aria-pressed", String(i === index))),
    };
}

function makeNumbers(run, rungs, metrics) {
    const row = (name, verdict, values) => [name, verdict, ...metrics.map(metric => textOf(values, metric))];
    const table = makeTable("Every count", ["rung", "verified", ...metrics.map(metric => termed(metric.text))],
        [...rungs.map(rung => row(rung.id, verdictOf(rung.row), rung.row)),
         row("sequential loop (CPU)", "", run.sequential || {})]);
    table.classList.add("facts-table");
    return {
        node: scroller("Every count", table),
        mark(index) {
            [...table.tBodies[0].rows].forEach((line, i) => line.classList.toggle("now", i === index));
        },
    };
}

// ---- one of them

function makeComparison(rung, before, metrics) {
    const told = metrics.filter(metric => valueOf(rung.row, metric) !== undefined);
    if (!before) return scroller("Counts", makeTable("Counts", ["", rung.row.rung],
        told.map(metric => [termed(metric.text), textOf(rung.row, metric)])));
    const rows = told.map(metric => {
        const value = valueOf(rung.row, metric), old = valueOf(before.row, metric);
        const change = changeOf(old, value, metric);
        const factor = change && old ? `× ${numeral(Number((value / old).toPrecision(3)))}` : "";
        const verdict = {better: "▲ better", worse: "▼ worse"}[change] || "";
        return [termed(metric.text), textOf(before.row, metric), {text: textOf(rung.row, metric), class: change ? `differs ${change}` : null}, factor, verdict];
    });
    return scroller("Counts", makeTable(`Counts, ${before.row.rung} against this rung`,
        ["", before.row.rung, rung.row.rung, "factor", ""], rows));
}

function makeFigure(rung) {
    if (!rung.tree) return null;
    const {n, block, warp} = rung.tree;
    const words = `${rung.id}: ${n} elements, a block of ${block}, warps of ${warp}; discs are additions, by the thread in them`;
    return element("figure", {class: cellsOf(rung.tree) > TREE.cellsBeside ? "wide" : null}, element("figcaption", null, words),
                   scroller(`Tree of ${rung.id}`, drawTree(rung.tree, true)));
}

function makeDiff(rung, before) {
    const code = codeOf(rung.source), old = before ? codeOf(before.source) : "";
    if (!code) return null;
    return element("details", {open: true},
        element("summary", null, old ? `What changed in the source since ${before.row.rung}` : "The source"),
        scroller("Source", drawDiff(old, code)));
}

// To the rung's own page, where this one stands on the site; elsewhere what writes that.
function makeWayToSteps(rung) {
    const command = element("code", null, `warpfold explain ${rung.row.rung} --html ${rung.row.rung}.html`);
    const link = element("a", {href: `explain/${rung.id}.html`}, `${rung.row.rung} step by step`);
    return element("p", {class: "faint steps"}, isOnSite() ? link : ["Step by step: ", command]);
}

function drawRung(rung, before, metrics) {
    const told = rung.told;
    const lesson = [
        element("h3", null, `${rung.id}: ${told.title}`), makeWayToSteps(rung),
        tellFix(rung, "p", "✓ "),
        told.costs ? element("p", {class: "change"}, element("b", {class: "costs"}, "✕ Still costs: "),
                             withTermsAndCode(told.costs)) : null,
        told.idea.map(text => element("p", null, withTermsAndCode(text))),
        element("div", {class: "trees"}, before ? makeFigure(before) : null, makeFigure(rung)), rung.tree ? makeTreeLegend([before, rung]) : null,
    ];
    const both = [element("div", null, lesson), makeComparison(rung, before, metrics)];
    return [element("div", {class: "columns lesson-and-counts"}, both), makeDiff(rung, before)].filter(Boolean);
}

// ---- the page

const LEAD = "Each rung is a kernel that adds up an array, and fixes one problem of the rung before. "
    + "The chart compares them; choose a bar to see its rung below.";

const PAGE_TERMS = ["active lane", "atomic", "bank conflict", "bank degree", "barrier", "ceiling", "divergence", "lane", "race", "request", "rung",
                    "sector", "step", "ulp", "warp", "wavefront", "word"];

// The run with the most elements of those that were timed, where there is one: counts alone do not tell what is fast.
function firstRun(runs) {
    const timed = runs.filter(run => run.rungs.some(row => typeof row.microseconds === "number"));
    return runs.indexOf((timed.length ? timed : runs).reduce((most, run) => run.n > most.n ? run : most));
}

function nameOfRun(run, isRecorded) {
    const where = run.device === "simt" ? "simulator" : String(run.gpu || run.device).split(",")[0].replace("NVIDIA ", "");
    return `${where}${isRecorded ? ", recorded" : ""}: n = ${grouped(run.n)}`;
}

function showPage(data, main) {
    const own = listRuns(data.runs), runs = [...own, ...listRuns(data.recorded || [])], body = element("div", {class: "columns"});
    if (!own.length) {
        main.append(panel("The ladder", element("p", null, "The data hold no run: no object with rungs.")));
        return;
    }
    const showRun = run => body.replaceChildren(...drawRun(run, joinRungs(run, data.rungs)));
    const choices = runs.map((run, i) => ({value: i, text: nameOfRun(run, i >= own.length), title: tellRun(run)}));
    main.append(element("p", {class: "lead"}, withTerms(LEAD)),
                element("div", {class: "controls"}, makeChoice("Run", choices, i => showRun(runs[i]), firstRun(runs)).node), body, makeTermsPanel(PAGE_TERMS));
}

function drawRun(run, rungs) {
    const metrics = METRICS.filter(metric => rungs.some(rung => valueOf(rung.row, metric) !== undefined));
    const cards = makeCards(rungs, choose), numbers = makeNumbers(run, rungs, metrics);
    const chart = makeChart(run, rungs, metrics, choose);
    const stage = element("div", {id: "rung"}); // the player reads out its name: all of it would be too much
    const player = makePlayer(rungs.map(rung => rung.id), index => {
        const fixed = rungs.slice(0, index).find(rung => rung.row.rung === rungs[index].told.of);
        stage.replaceChildren(...drawRung(rungs[index], fixed || rungs[index - 1], metrics));
        cards.mark(index);
        numbers.mark(index);
        chart.mark(index);
    }, {keys: true});
    function choose(index) {
        player.go(index);
        player.node.closest(".panel").scrollIntoView({block: "start"});
    }
    return [
        panel("The run", element("p", null, tellRun(run)), chart.node),
        panel("From rung to rung", player.node, stage),
        panel("Side by side", element("p", {class: "faint"}, "One block each, of few elements in small warps, from top to bottom."),
              makeTreeLegend(rungs), cards.node),
        panel("Numbers", numbers.node),
    ];
}
