// The kernels as the sources print them, run on the simulator, and where they go wrong.

const WRONG = {perRow: 16, cell: 30, height: 24, top: 4, left: 46};

// The steps of a run: what the array holds after each, and which threads stored.
function wrongSteps(wrong) {
    let cells = wrong.input;
    const steps = [];
    for (const {array, combines, stores} of wrong.phases) {
        cells = !combines && array === "shared" ? [] : cells.slice();
        stores.forEach(({cell, value}) => { cells[cell] = value; });
        const stored = new Set(stores.map(store => store.cell));
        const threads = new Set(stores.map(store => store.thread));
        if (combines) steps.push({cells, stored, lanes: threads.size});
    }
    return steps;
}

function drawWrongCells(step) {
    const rows = Math.ceil(step.cells.length / WRONG.perRow), rowY = row => WRONG.top + row * WRONG.height;
    const width = WRONG.left + WRONG.perRow * WRONG.cell + 4, height = rowY(rows) + WRONG.top;
    const heads = Array.from({length: rows}, (_, row) => svgText(`[${row * WRONG.perRow}]`, WRONG.left - 6,
                                                                rowY(row) + 16, "faint small end"));
    const cells = step.cells.map((value, cell) =>
        drawWrongCell(step, value, cell, rowY(Math.floor(cell / WRONG.perRow))));
    return svg("svg", {class: "wrong-cells", role: "img", viewBox: `0 0 ${width} ${height}`,
                       style: `max-width:${1.4 * width}px`,
                       "aria-label": `cells ${[...step.stored].join(", ")} are written`}, heads, cells);
}

function drawWrongCell(step, value, cell, y) {
    const x = WRONG.left + cell % WRONG.perRow * WRONG.cell, isStored = step.stored.has(cell);
    return svg("g", null, svg("title", null, `[${cell}] = ${value}`),
               svgBox(isStored ? "box made" : "box rest", x, y, WRONG.cell - 2, WRONG.height - 3),
               svgText(valueText(value), x + WRONG.cell / 2 - 1, y + 14.5,
                       isStored ? "middle small strong" : "middle small"));
}

// The steps go on for as long as the right tree does.
function makeLaneTable(wrong, steps) {
    const rows = wrong.right_active_lanes.map((lanes, i) => {
        const printed = i < steps.length ? steps[i].lanes : "none";
        return [String(i + 1), lanes, {text: printed, class: printed === lanes ? "agrees" : "differs"}];
    });
    return makeTable("Threads that add", ["step", "right", "as printed"], rows);
}

// The line that is not what the comment says is right; those of the findings.
function noteWrongLines(listing, wrong) {
    const lines = wrong.source.split("\n"), comment = lines.filter(line => line.startsWith("//")).join(" ");
    const right = (comment.match(/Right is\s+(?:\/\/ )?`([^`]+)`/) || [])[1];
    const isWrong = line => right && !line.startsWith("//") && line.includes(right);
    lines.forEach((line, i) => {
        if (isWrong(line)) listing.note(i + 1, "wrong", "✕", `right is: ${right}`);
    });
    for (const finding of wrong.findings)
        for (const line of linesOfFinding(finding)) listing.note(line, "wrong", "✕", finding.message);
}

function wrongWords(wrong) {
    const block = `${wrong.block} threads`;
    const blocks = wrong.grid === 1 ? `a block of ${block}` : `${wrong.grid} blocks of ${block}`;
    const what = {ones: "ones", iota: "numbers from 0 on"}[wrong.fill] || "elements";
    const outcome = wrong.result === null ? "it is stopped before it has a result" : `it gives ${wrong.result}`;
    return element("p", null, `${wrong.n} ${what} in ${blocks}: `,
                   element("strong", {class: "outcome"}, outcome), `; right is ${wrong.right}.`);
}

function wrongFinding(finding) {
    const place = element("b", null, `${finding.kind}, line ${finding.line}: `);
    return element("p", {class: "finding"}, place, withCode(finding.message));
}

// Without a race, barriers part its steps.
function isOrdered(wrong) {
    return !wrong.findings.length;
}

// Step by step, where its steps are known.
function makeWrongSteps(wrong) {
    const steps = wrongSteps(wrong), picture = element("div");
    if (!steps.length) return null;
    const name = isOrdered(wrong) ? "Step" : "Between barriers,";
    const player = makePlayer(steps.map((_, i) => `${name} ${i + 1} of ${steps.length}`), index => {
        const words = `Cells after it; ${plural(steps[index].lanes, "thread")} wrote the marked ones.`;
        picture.replaceChildren(element("p", {class: "faint"}, words),
                                scroller("Cells", drawWrongCells(steps[index])));
    });
    return element("div", null, player.node, picture, isOrdered(wrong) ? makeLaneTable(wrong, steps) : null);
}

function makeWrong(wrong) {
    const listing = makeSource(wrong.source, [], null, readComment(wrong.source).end + 2);
    noteWrongLines(listing, wrong);
    return element("article", {class: "wrong", "data-kernel": wrong.kernel},
        element("h3", null, `As printed: ${wrong.kernel.replace(/_/g, " ")}`), wrongWords(wrong),
        wrong.findings.map(wrongFinding),
        element("div", {class: "columns two"}, makeWrongSteps(wrong),
                scroller("The kernel as printed", listing.node)));
}

function makeErrorsPanel(data) {
    if (!data.printed_errors.length) return null;
    const errors = data.printed_errors.map(text => element("li", null, withCode(text)));
    return panel("Printed wrong in the sources", element("ul", null, errors), element("p", {class: "faint"}, sourcesLink(), " of these sources."),
                 data.wrong.map(makeWrong));
}
