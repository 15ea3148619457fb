// One block of a rung, step by step.

const SOURCE_COLUMNS = [
    {key: "instructions", title: "warp instr."}, {key: "thread_instructions", title: "thread instr."},
    {key: "divergent_branches", title: "diver- gences", term: "divergence"}, {key: "global_requests", title: "global req.", term: "request"},
    {key: "shared_wavefronts", title: "wave- fronts", term: "wavefront"},
];

// ---- the source

// The first comment: what the rung is, as paragraphs; and the line after it.
function readComment(source) {
    const lines = source.split("\n");
    const end = lines.findIndex(line => !line.startsWith("//"));
    const text = lines.slice(0, end).map(line => line.replace(/^\/\/ ?/, "")).join("\n");
    const parts = text.split(/\n\s*\n/).slice(1).flatMap(part => part.split(/\n(?=\S[^:]{2,18}:  )/));
    const isForHost = part => /^Tile: /.test(part);
    const paragraphs = parts.filter(part => !isForHost(part)).map(part => part.replace(/\s+/g, " ").trim());
    return {end, paragraphs};
}

// The title and the first paragraph: what the rung does.
function makeIdea(data) {
    const [idea] = readComment(data.source).paragraphs;
    return element("section", {class: "panel idea", "aria-label": "The idea"},
                   element("h2", null, data.title, " ", element("small", {class: "setting faint"}, settingWords(data))),
                   element("p", null, withTermsAndCode(idea)));
}

// ---- other rungs

// The address of another rung's page beside this one: this page's name with the other's id or number; null: it has neither.
function addressBeside(own, id) {
    const name = decodeURIComponent(location.pathname.split("/").pop()), number = own.slice(0, 2);
    if (name.includes(own)) return name.replace(own, id);
    const alone = new RegExp(`(^|\\D)${number}(?!\\d)`);
    return alone.test(name) ? name.replace(alone, `$1${id.slice(0, 2)}`) : null;
}

// Links to the rungs before and after, with what writes their pages: but for the site's, this page cannot know whether they are there.
function makeNeighbours(data) {
    const link = (word, other) => {
        if (!other) return null;
        const number = other.id.slice(0, 2), address = addressBeside(data.rung, other.id);
        const name = `${number} ${other.title}`, file = address || `${number}.html`;
        const origin = isOnSite() ? null : element("small", {class: "faint"}, " written by ",
                                                   element("code", null, `warpfold explain ${number} --html ${file}`));
        return element("p", null, element("b", null, `${word}: `), address ? element("a", {href: address}, name) : name, origin);
    };
    return element("nav", {"aria-label": "Rungs", class: "beside"}, link("Before", data.before), link("Next", data.next));
}

// A document: a page of the site, or a file of a checkout.
function docLink(name, words, part = "") {
    return element("a", {href: `${isOnSite() ? `../docs/${name}.html` : `docs/${name}.md`}${part}`}, words);
}

// To title, edition and place of what a rung is from.
function sourcesLink() {
    return docLink("ladder", "Titles and places", "#sources");
}

// A comment's words, in which the documents that it names are links.
function withDocs(text) {
    return text.split(/\b(docs\/[a-z-]+\.md)\b/).map((part, i) => i % 2 ? docLink(part.slice(5, -3), part) : withCode(part));
}

// What else its comment says: how it does that, over the whole width; what it fixes, what it still costs, where it is from.
function makeMorePanel(data) {
    const paragraphs = readComment(data.source).paragraphs.slice(1).map(text => {
        const lead = (text.match(/^(Fixes|Still costs|From)\b[^:]*:/) || [""])[0];
        const isOfOthers = lead === "From:" && !text.endsWith("beyond the tutorials.");
        return {lead, node: element("p", null, element("b", null, lead), withDocs(text.slice(lead.length)),
                                    isOfOthers ? [" ", sourcesLink()] : null)};
    });
    const [told, listed] = [false, true].map(isListed => paragraphs.filter(({lead}) => !!lead === isListed).map(({node}) => node));
    return panel("What it fixes, and what it costs", told, element("div", {class: "beside"}, listed), makeNeighbours(data));
}

function usedColumns(data) {
    const all = [...data.steps.flatMap(step => step.lines), ...data.outside.lines];
    return SOURCE_COLUMNS.filter(column => all.some(line => line[column.key]));
}

function addLines(total, lines) {
    for (const line of lines) {
        const sum = total.get(line.line) || {};
        for (const {key} of SOURCE_COLUMNS) sum[key] = (sum[key] || 0) + line[key];
        total.set(line.line, sum);
    }
    return total;
}

function lineCounts(model, index, isWhole) {
    const {data} = model, frame = model.frames[index];
    if (!isWhole) return addLines(new Map(), frame.kind === "step" ? frame.step.lines : data.outside.lines);
    return [...data.steps.map(step => step.lines), data.outside.lines].reduce(addLines, new Map());
}

function linesNow(model, index) {
    const frame = model.frames[index];
    if (frame.kind === "step") return [frame.step.guard_line, frame.step.line].filter(Boolean);
    return [...new Set(outsideAccesses(model, index).map(access => access.line).filter(Boolean))];
}

// ---- parts that follow the steps: each has a node and show(index, view)

function makeStagePart(model) {
    const words = element("p", {class: "caption"}), sentence = element("p", {class: "sentence"});
    const told = element("div", {"aria-live": "polite", "aria-atomic": "true"}, words, sentence); // one after the other
    const stage = element("div");
    function show(index, view) {
        const access = accessesOf(model, index, view.warp)[view.access];
        words.dataset.moment = frameLabel(model, index);
        words.replaceChildren(...withTerms(caption(model, index)));
        sentence.replaceChildren(...access ? withTerms(`Warp ${view.warp}, line ${access.line}: ${tellAccess(model, access)}`) : []);
        sentence.classList.toggle("costly", Boolean(access) && slowness(access) > 1);
        stage.replaceChildren(drawStage(model, index, view));
    }
    const node = element("section", {class: "panel stage-panel", "aria-label": "The block, step by step"}, told,
                         scroller("Picture of the step", stage), makeLegend([...stateEntries(model), ...cellEntries(model)]));
    return {node, show};
}

function makeAdditionsPart(model) {
    const box = scroller("Additions");
    box.classList.add("additions");
    return {node: panel("Additions", box),
            show: (index, view) => box.replaceChildren(makeCombineTable(model, index, view))};
}

// The slowest access is looked at first; look(i) is called for another that is chosen.  whose: what chooses the warp, or null.
function makeMemoryPart(model, look, whose) {
    const choice = element("span", {class: "accesses"}), picture = element("div");
    function draw(access) {
        picture.replaceChildren(element("p", null, `Warp ${access.warp}: `, withTerms(`${accessLabel(access)}.`)),
                                scroller("Picture of the access", drawAccess(model, access)));
    }
    function show(index, view) {
        const accesses = accessesOf(model, index, view.warp);
        choice.replaceChildren();
        picture.replaceChildren();
        node.classList.toggle("quiet", !accesses.length);
        if (!accesses.length) return picture.append(element("p", {class: "faint"}, `Warp ${view.warp} touches no memory here.`));
        const choices = accesses.map((access, i) => ({value: i, text: `${i + 1} ${access.kind}`, title: accessLabel(access)}));
        const chosen = i => {
            draw(accesses[i]);
            if (i !== view.access) look(i);
        };
        choice.append(makeChoice("Access", choices, chosen, view.access).node);
    }
    const node = panel("Memory", picture);
    node.classList.add("memory-panel");
    node.querySelector("h2").append(...[whose, choice].filter(Boolean));
    return {node, show};
}

function worstAccess(model, index, warp) {
    const degrees = accessesOf(model, index, warp).map(slowness);
    return degrees.indexOf(Math.max(...degrees));
}

function makeSourcePart(model) {
    const {data} = model, first = readComment(data.source).end + 2;
    const listing = makeSource(data.source, usedColumns(data), null, first);
    const box = listingBox(listing.node);
    let isWhole = false, now = 0;
    const kinds = [{value: "step", text: "this step"}, {value: "run", text: "the whole run"}];
    const choice = makeChoice("Counts of", kinds, value => {
        isWhole = value === "run";
        listing.count(lineCounts(model, now, isWhole));
    });
    function show(index) {
        now = index;
        const lines = linesNow(model, index);
        listing.count(lineCounts(model, index, isWhole));
        listing.point(lines);
        if (lines.length) reveal(box, listing.row(lines[lines.length - 1]));
    }
    const controls = element("span", {class: "controls"}, "counts of ", choice.node);
    const statements = data.textbook.split(/(?<=;) (?![^(]*\))/); // a line is broken between them, if it must be
    const words = ["A textbook writes, for a sum: ", element("code", null, statements.flatMap((text, i) => [i ? " " : "", element("span", null, text)]))];
    const textbook = data.textbook ? [element("p", null, words)] : [];
    const node = panel("The kernel", ...textbook, box);
    node.classList.add("kernel-panel");
    node.querySelector("h2").append(controls);
    return {node, show};
}

function makeGridPart(model, go) {
    const grid = makeWarpGrid(model, go), box = scroller("Active lanes by warp and step", grid.node);
    box.classList.add("grid");
    const has = name => grid.node.querySelector(name) !== null;
    const words = ["Active lanes.", has(".parts") ? "Hatched, div: the warp diverges." : "",
                   has(".clashes") ? "×2: a bank conflict, twice the turns." : "", model.warpCount > 1 ? "Keys up and down: other warps." : ""].filter(Boolean).join(" ");
    return {node: panel("Which warps work", box, element("p", {class: "faint"}, withTerms(words))),
            show: (index, view) => grid.mark(index, view.warp)};
}

function makeTreePart(model) {
    const tree = drawTree(model), last = model.data.steps.length;
    if (!tree) return {node: null, isNarrow: false, show: () => {}};
    const mark = (row, index) => row.classList.toggle("now", Number(row.dataset.row) === Math.min(index, last));
    return {node: panel("The tree", scroller("The tree", tree)), isNarrow: tree.viewBox.baseVal.width <= TREE.widthBeside,
            show: index => tree.querySelectorAll(".row").forEach(row => mark(row, index))};
}

// Nothing where there is one warp only.  Where the stage shows all warps, it is only about the memory.
function makeWarpPart(model, view, changed) {
    if (model.warpCount === 1) return {node: null, show: () => {}};
    const option = (_, warp) => element("option", {value: warp}, `warp ${warp}`);
    const list = element("select", {"aria-label": "Warp shown", onchange: () => changed(Number(list.value))},
                         Array.from({length: model.warpCount}, option));
    return {node: element("label", {class: view.all ? "accesses" : null}, view.all ? "of " : "Shown: ", list),
            show: () => { list.value = view.warp; }};
}

const CELL_ROLES = [
    {role: "read", text: "read"}, {role: "made", text: "written"}, {role: "conflict", text: "bank conflict"},
];

// Only what this run shows at some moment is explained.
function stateEntries(model) {
    const threads = Array.from({length: model.data.block}, (_, thread) => thread);
    const seen = new Set(model.frames.flatMap((_, index) =>
        threads.map(thread => laneState(activeMask(model, index, warpOf(model, thread)), thread % model.data.warp))));
    return laneEntries().filter((_, i) => seen.has(LANE_STATES[i].state));
}

function cellEntries(model) {
    const all = [...model.data.steps.flatMap(step => step.accesses), ...model.data.outside.accesses];
    const roles = CELL_ROLES.filter(({role}) => role !== "conflict" || all.some(isConflict));
    const boxes = roles.map(({role, text}) => ({picture: svgBox(`box ${role}`, 2, 2, 16, 16, 2), text}));
    const hasUnused = model.frames.some(frame => frame.kind === "step" && frame.step.combines.some(combine => isUnused(frame, combine)));
    const unused = {picture: svg("g", {class: "unused"}, arrow("M10 1V14")), text: "its result is not used"};
    return hasUnused ? [...boxes, unused] : boxes;
}

// ---- the whole

const STAGE_BESIDE = 16; // threads or cells: more need the page's whole width

function settingWords(data) {
    const machine = `warps of ${plural(data.warp, "lane")}, ${plural(data.banks, "bank")}`;
    const schedule = data.schedule === "lockstep" ? "" : `, schedule ${data.schedule}`;
    const small = data.is_picture && data.warp < 32 ? " (small, to be seen at a glance: a GPU has 32 of each)" : "";
    return `${data.op} of ${numeral(data.n)} ${data.type} in ${blockWords(data)}, ${machine}${small}${schedule}`;
}

function makeComparisonPanel(data) {
    const steps = scroller("Counts of the steps", makeStepTable(data));
    const block = scroller("Counts of the block", makeBlockTable(data));
    return panel("Counted beside predicted", element("p", null, comparisonWords(data)), element("div", {class: "tables"}, steps, block));
}

function makeFindingsPanel(data) {
    if (!data.findings.length) return null;
    return panel("Findings", element("ul", null, data.findings.map(finding => element("li", null,
        `${finding.kind} at line ${finding.line}, thread ${finding.thread}: `, withCode(finding.message)))));
}

function isWide(model, symbols) {
    return !showsAll(model) || Math.max(model.data.block, cellsMost(model)) > STAGE_BESIDE
        || widthOfFrames(model, "step", symbols) > STAGE.widthWhole || widthOfFrames(model, "start", symbols) > STAGE.widthLoads;
}

// Stage, memory and kernel on one screen: the kernel beside both, or, where the stage is wide, below it.
function makeBench(model, parts) {
    return element("div", {class: isWide(model, false) ? "bench wide" : "bench"}, parts.stage.node, parts.memory.node, parts.source.node);
}

// What adding in floats makes of the same elements, beside a rung that adds integers.
function makeOrdersPanel(data) {
    if (!data.orders) return null;
    const rows = [["exact, rounded once", data.result], [`in ${data.type}, from the first to the last`, data.orders.forward],
                  [`in ${data.type}, from the last to the first`, data.orders.backward],
                  [`in ${data.type}, by halves as in rung 06`, data.orders.halves]];
    return panel("The same elements in other orders", makeTable("What each order makes of their sum", ["added", "sum"], rows));
}

const DOCS = ["ladder.md", "glossary.md"];

const PAGE_TERMS = ["active lane", "atomic", "bank", "bank conflict", "bank degree", "barrier", "block", "divergence", "lane", "occupancy",
                    "partial result", "race", "request", "sector", "step", "utilization", "warp", "wavefront", "word"];

function layOutPage(model, main, parts, controls) {
    const {data} = model;
    main.classList.add("explain");
    main.append(...[
        makeIdea(data), element("div", {class: "bar"}, controls), makeBench(model, parts), makeOrdersPanel(data), makeMorePanel(data),
        element("div", {class: parts.tree.isNarrow ? "columns whole" : "columns"}, parts.grid.node, parts.tree.node),
        parts.additions.node, makeComparisonPanel(data), makeErrorsPanel(data), makeFindingsPanel(data),
        makeTermsPanel([...new Set([...PAGE_TERMS, ...termsIn(readComment(data.source).paragraphs.join(" "))])].sort(), data),
    ].filter(Boolean));
}

// The step of an address that ends in #step=3; null: it names none.
function stepOfAddress() {
    const match = location.hash.match(/^#step=(\d+)$/);
    return match ? Number(match[1]) : null;
}

// Goes to the step that the address names, now and when it changes.
function followAddress(player) {
    const follow = () => {
        const step = stepOfAddress();
        if (step !== null && step !== player.index) player.go(step);
    };
    addEventListener("hashchange", follow);
    follow();
}

// Where a page opens: with the options that show the rung's lesson, at the first step, unless something is added before it.
function openingStep(model) {
    const [start, first] = model.frames;
    const isLesson = model.data.is_picture && start.kind === "start" && first.kind === "step";
    return isLesson && start.after.every(cell => elementsOf(cell.symbol).length <= 1) ? 1 : 0;
}

// The address then names the step that is shown, so that it can be handed on, without a way back for each step.
function nameStep(index, opening) {
    if (index !== opening || stepOfAddress() !== null) history.replaceState(null, "", `#step=${index}`);
}

// Links to the rungs before and after lead to the step that was gone to, so that the two can be compared.
function linkStep({data, frames}, index, opening) {
    const files = [data.before, data.next].filter(Boolean).map(other => addressBeside(data.rung, other.id));
    const step = index === opening || frames[index].kind === "end" ? "" : `#step=${index}`;
    for (const link of document.links) {
        const [file] = link.getAttribute("href").split("#");
        if (files.includes(file)) link.setAttribute("href", file + step);
    }
}

function showPage(data, main) {
    const model = buildModel(data);
    const warp = interestingWarp(model, Math.min(1, model.frames.length - 1));
    const view = {all: showsAll(model), warp, symbols: false, access: -1};
    const opening = openingStep(model);
    let now = 0, player = null, isLaidOut = false;
    const show = index => {
        now = index;
        view.access = worstAccess(model, index, view.warp);
        if (!isLaidOut) return;
        nameStep(index, opening);
        linkStep(model, index, opening);
        Object.values(parts).forEach(part => part.show(index, view));
    };
    const look = access => {
        view.access = access;
        parts.stage.show(now, view);
    };
    const showWarp = chosen => {
        view.warp = chosen;
        show(now);
    };
    const warps = makeWarpPart(model, view, showWarp);
    const parts = {
        stage: makeStagePart(model), additions: makeAdditionsPart(model), memory: makeMemoryPart(model, look, view.all ? warps.node : null),
        source: makeSourcePart(model), tree: makeTreePart(model), warp: warps,
        grid: makeGridPart(model, (index, chosen) => {
            view.warp = chosen;
            player.go(index);
        }),
    };
    player = makePlayer(model.frames.map((_, index) => frameLabel(model, index)), show, {keys: true});
    const kinds = [{value: "values", text: "Values"}, {value: "symbols", text: "Symbols"}];
    const naming = makeChoice("Cells show", kinds, value => {
        view.symbols = value === "symbols";
        main.querySelector(".bench")?.classList.toggle("wide", isWide(model, view.symbols));
        show(now);
    });
    layOutPage(model, main, parts, [player.node, naming.node, view.all ? null : warps.node]);
    player.go(opening);
    isLaidOut = true;
    followAddress(player);
    show(now);
}
