// A rung's tree, small: a row of cells for each step, a disc for every addition.

const TREE = {cell: 26, step: 44, margin: 16};

// In the margins of a step, where no cell is: its accesses to shared memory wait for banks.
function drawClash(step, y, width) {
    const bar = x => svg("rect", {class: "clash", x, y, width: TREE.margin - 4, height: TREE.step - 14});
    return svg("g", null, svg("title", null, tellClash(step)), bar(2), bar(width - TREE.margin + 2));
}

function tellClash(step) {
    return `a bank conflict of degree ${numeral(step.bank_degree)}`;
}

// The step's additions go from the cells above, the target's own among them, to those below.  isLarge: with
// numbers.
function drawTree(tree, isLarge) {
    const combines = tree.steps.flatMap(step => step.combines);
    const cells = 1 + Math.max(0, ...combines.flatMap(combine => [combine.target, ...combine.sources]));
    const x = cell => TREE.margin + cell * TREE.cell + TREE.cell / 2, y = step => 14 + step * TREE.step;
    const width = 2 * TREE.margin + cells * TREE.cell, height = y(tree.steps.length) + 18;
    const picture = svg("svg", {class: "tree", viewBox: `0 0 ${width} ${height}`, role: "img",
                                style: `max-width: ${width * 1.4}px`, "aria-label": tellTree(tree)});
    tree.steps.forEach((step, s) => {
        if (step.divergent_warps) picture.append(
            svg("rect", {class: "band", x: 2, y: y(s) + 8, width: width - 4, height: TREE.step - 14}));
        if (step.bank_degree > 1) picture.append(drawClash(step, y(s) + 8, width));
        for (const combine of step.combines) for (const source of [combine.target, ...combine.sources])
            picture.append(svg("line", {class: "edge", x1: x(source), y1: y(s),
                                        x2: x(combine.target), y2: y(s + 1)}));
    });
    for (let s = 0; s <= tree.steps.length; s++) {
        const made = new Map();
        for (const combine of s ? tree.steps[s - 1].combines : [])
            made.set(combine.target, made.has(combine.target) ? "all" : combine.thread);
        for (let cell = 0; cell < cells; cell++) {
            if (!made.has(cell))
                picture.append(svg("circle", {class: "dot", cx: x(cell), cy: y(s), r: s ? 1.6 : 3}));
            else picture.append(laneShape("active", x(cell), y(s), isLarge ? 9 : 6));
            if (isLarge && made.has(cell))
                picture.append(svg("text", {class: "middle on-active", x: x(cell), y: y(s) + 4}, made.get(cell)));
        }
    }
    return picture;
}

function tellTree(tree) {
    const parts = tree.steps.map((step, i) => `step ${i + 1}: ${plural(step.combines.length, "addition")}`
        + (step.divergent_warps ? `, ${plural(step.divergent_warps, "warp")} diverging` : "")
        + (step.bank_degree > 1 ? `, ${tellClash(step)}` : ""));
    return `The tree of ${tree.n} elements. ${parts.join("; ")}.`;
}

// ---- sources

// What the kernel's file holds behind its first comment.
function codeOf(source) {
    const lines = source.replace(/\n$/, "").split("\n");
    let first = 0;
    while (first < lines.length && (lines[first].startsWith("//") || !lines[first].trim())) first++;
    return lines.slice(first).join("\n");
}

// The lines of both, in order: " " in both, "-" only in the old, "+" only in the new.
function diffLines(before, now) {
    const a = before.split("\n"), b = now.split("\n");
    const longest = Array.from({length: a.length + 1}, () => new Array(b.length + 1).fill(0));
    for (let i = a.length - 1; i >= 0; i--)
        for (let j = b.length - 1; j >= 0; j--)
            longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1
                : Math.max(longest[i + 1][j], longest[i][j + 1]);
    const lines = [];
    let i = 0, j = 0;
    while (i < a.length || j < b.length) {
        const isSame = i < a.length && j < b.length && a[i] === b[j];
        const isRemoved = i < a.length && (j === b.length || longest[i + 1][j] >= longest[i][j + 1]);
        lines.push(isSame || isRemoved ? {sign: isSame ? " " : "-", text: a[i]} : {sign: "+", text: b[j]});
        if (isSame || isRemoved) i++;
        if (isSame || !isRemoved) j++;
    }
    return lines;
}

// before: "" for none.
function drawDiff(before, now) {
    const lines = before ? diffLines(before, now) : now.split("\n").map(text => ({sign: " ", text}));
    const names = {"+": "added", "-": "removed", " ": null};
    return element("table", {class: "diff"},
        element("caption", {class: "hidden"}, "Lines removed (-) and added (+)"),
        element("tbody", null, lines.map(line => element("tr", {class: names[line.sign]},
            element("td", {class: "sign"}, line.sign), element("td", null, line.text)))));
}
