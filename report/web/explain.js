// One block of a rung, step by step.

const SOURCE_COLUMNS = [
    {key: "instructions", title: "warp instr."}, {key: "thread_instructions", title: "thread instr."},
    {key: "divergent_branches", title: "diver- gences"}, {key: "global_requests", title: "global req."},
    {key: "shared_wavefronts", title: "wave- fronts"},
];

// ---- the source

// The first comment: what the rung is, as paragraphs; and the line after it.
function readComment(source) {
    const lines = source.split("\n");
    const end = lines.findIndex(line => !line.startsWith("//"));
    const text = lines.slice(0, end).map(line => line.replace(/^\/\/ ?/, "")).join("\n");
    const parts = text.split(/\n\s*\n/).slice(1).flatMap(part => part.split(/\n(?=\S[^:]{2,18}:  )/));
    const isForHost = part => part.split("\n").every(line => /^[A-Z][\w ]*: \S/.test(line) && line.length < 60);
    const paragraphs = parts.filter(part => !isForHost(part)).map(part => part.replace(/\s+/g, " ").trim());
    return {end, paragraphs};
}

function makeIdea(paragraphs) {
    return paragraphs.map(paragraph => {
        const lead = paragraph.match(/^(Cures of \d+|Still costs|From):/);
        return lead ? element("p", null, element("b", null, lead[0]), withCode(paragraph.slice(lead[0].length)))
                    : element("p", null, withCode(paragraph));
    });
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

// Scrolls the listing, and only that, to a line.
function reveal(box, row) {
    const top = row.offsetTop - box.clientHeight / 2;
    box.scrollTop = Math.max(0, top);
}

// ---- parts that follow the steps: each has a node and show(index, view)

function makeStagePart(model) {
    const words = element("p", {class: "caption", "aria-live": "polite"}), stage = element("div");
    function show(index, view) {
        words.textContent = caption(model, index);
        stage.replaceChildren(...drawStages(model, index, view));
    }
    return {node: [words, scroller("Picture of the step", stage), laneLegend(), cellLegend()], show};
}

function makeAdditionsPart(model) {
    const box = scroller("Additions");
    box.classList.add("additions");
    return {node: panel("Additions", box),
            show: (index, view) => box.replaceChildren(makeCombineTable(model, index, view))};
}

function makeMemoryPart(model) {
    const choice = element("div", {class: "accesses"}), picture = element("div");
    function show(index, view) {
        const accesses = accessesOf(model, index, view.warp);
        choice.replaceChildren();
        picture.replaceChildren();
        if (accesses.length) choice.append(makeAccessChoice(model, accesses, picture));
        else picture.append(element("p", {class: "faint"}, `Warp ${view.warp} touches no memory here.`));
    }
    return {node: panel("Memory", choice, picture), show};
}

// The access with the worst conflict is shown first.
function makeAccessChoice(model, accesses, picture) {
    const draw = i => picture.replaceChildren(
        element("p", null, `Warp ${accesses[i].warp}: ${accessLabel(accesses[i])}.`),
        scroller("Picture of the access", drawAccess(model, accesses[i])));
    const choice = makeChoice("Access", accesses.map((access, i) => (
        {value: i, text: `${i + 1} ${access.kind}`, title: accessLabel(access)})), draw);
    const degrees = accesses.map(bankDegree);
    choice.select(degrees.indexOf(Math.max(...degrees)));
    return choice.node;
}

function makeSourcePart(model) {
    const {data} = model, first = readComment(data.source).end + 2;
    const listing = makeSource(data.source, usedColumns(data), null, first);
    const box = scroller("Source", listing.node);
    box.classList.add("listing");
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
    const controls = element("div", {class: "controls"}, "Counts of ", choice.node);
    const words = ["Written for every type and op. For a sum a textbook has: ", element("code", null, data.textbook)];
    const textbook = data.textbook ? [element("p", null, words)] : [];
    return {node: panel("The kernel", ...textbook, controls, box), show};
}

function makeGridPart(model, go) {
    const grid = makeWarpGrid(model, go), box = scroller("Active lanes by warp and step", grid.node);
    box.classList.add("grid");
    const words = "Hatched, div: the warp diverges. The keys up and down go through the warps.";
    return {node: panel("Which warps work", box, element("p", {class: "faint"}, words)),
            show: (index, view) => grid.mark(index, view.warp)};
}

function makeTreePart(model) {
    const tree = drawTree(model), last = model.data.steps.length;
    if (!tree) return {node: null, show: () => {}};
    const mark = (row, index) => row.classList.toggle("now", Number(row.dataset.row) === Math.min(index, last));
    return {node: panel("The tree", scroller("The tree", tree)),
            show: index => tree.querySelectorAll(".row").forEach(row => mark(row, index))};
}

// Nothing where there is one warp only.
function makeWarpPart(model, view, changed) {
    if (model.warpCount === 1) return {node: null, show: () => {}};
    const option = (_, warp) => element("option", {value: warp}, `warp ${warp}`);
    const list = element("select", {"aria-label": "Warp shown", onchange: () => changed(Number(list.value))},
                         Array.from({length: model.warpCount}, option));
    return {node: element("label", null, view.all ? "Memory of " : "Shown: ", list),
            show: () => { list.value = view.warp; }};
}

const CELL_ROLES = [
    {role: "read", text: "read"}, {role: "made", text: "written"},
    {role: "conflict", text: "waits for its bank: a conflict"},
];

function cellLegend() {
    return makeLegend(CELL_ROLES.map(({role, text}) => ({picture: svgBox(`box ${role}`, 2, 2, 16, 16, 2), text})));
}

// ---- the whole

function settingWords(data) {
    const machine = `warps of ${plural(data.warp, "lane")}, ${plural(data.banks, "bank")}`;
    const schedule = data.schedule === "lockstep" ? "" : `, schedule ${data.schedule}`;
    const block = `a block of ${plural(data.block, "thread")}`;
    const small = data.is_picture && data.warp < 32 ? " Small, to be seen at a glance: a GPU has 32 lanes and 32 banks." : "";
    return `${data.op} of ${data.n} ${data.type} in ${block}, ${machine}${schedule}.${small}`;
}

const BANKS_BESIDE = 16; // more of them need the page's whole width

function arrange(model, memory, additions, source) {
    const across = Math.max(model.data.banks, Math.min(model.data.warp, model.data.block));
    const two = left => element("div", {class: "columns two"}, left, source);
    return across > BANKS_BESIDE ? [two(additions), memory]
                                 : two(element("div", {class: "columns"}, memory, additions));
}

function makeComparisonPanel(data) {
    const steps = scroller("Counts of the steps", makeStepTable(data));
    const block = scroller("Counts of the block", makeBlockTable(data));
    return panel("Counted beside predicted", steps, element("p", null, comparisonWords(data)), block);
}

function makeFindingsPanel(data) {
    if (!data.findings.length) return null;
    return panel("Findings", element("ul", null, data.findings.map(finding => element("li", null,
        `${finding.kind} at line ${finding.line}, thread ${finding.thread}: ${finding.message}`))));
}

function layOutPage(model, main, parts, controls) {
    const {data} = model;
    main.append(...[
        element("section", {class: "panel first", "aria-label": "The block, step by step"},
                element("p", {class: "setting"}, element("b", null, data.title), " – ", settingWords(data)),
                element("div", {class: "bar"}, controls), parts.stage.node),
        arrange(model, parts.memory.node, parts.additions.node, parts.source.node),
        element("div", {class: parts.tree.node ? "columns two" : "columns"}, parts.grid.node, parts.tree.node),
        makeComparisonPanel(data), panel("The idea", makeIdea(readComment(data.source).paragraphs)),
        makeErrorsPanel(data), makeFindingsPanel(data),
    ].flat().filter(Boolean));
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

// The address then names the step that is shown, so that it can be handed on, without a way back for each step.
function nameStep(index) {
    if (index || stepOfAddress() !== null) history.replaceState(null, "", `#step=${index}`);
}

function showPage(data, main) {
    const model = buildModel(data);
    const warp = interestingWarp(model, Math.min(1, model.frames.length - 1));
    const view = {all: showsAll(model), warp, symbols: false};
    let now = 0, player = null, isLaidOut = false;
    const show = index => {
        now = index;
        if (isLaidOut) nameStep(index);
        if (isLaidOut) Object.values(parts).forEach(part => part.show(index, view));
    };
    const showWarp = chosen => {
        view.warp = chosen;
        show(now);
    };
    const parts = {
        stage: makeStagePart(model), additions: makeAdditionsPart(model), memory: makeMemoryPart(model),
        source: makeSourcePart(model), tree: makeTreePart(model), warp: makeWarpPart(model, view, showWarp),
        grid: makeGridPart(model, (index, chosen) => {
            view.warp = chosen;
            player.go(index);
        }),
    };
    player = makePlayer(model.frames.map((_, index) => frameLabel(model, index)), show, {keys: true});
    const kinds = [{value: "values", text: "Values"}, {value: "symbols", text: "Symbols"}];
    const naming = makeChoice("Cells show", kinds, value => {
        view.symbols = value === "symbols";
        show(now);
    });
    layOutPage(model, main, parts, [player.node, naming.node, parts.warp.node]);
    isLaidOut = true;
    followAddress(player);
    show(now);
}
