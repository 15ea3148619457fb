// A rung's tree, small: a row of cells for each step, a disc for every addition.

const TREE = {cell: 26, step: 44, margin: 16, room: 30, scaleLeast: 0.685, cellsBeside: 20};

function cellsOf(tree) {
    const combines = tree.steps.flatMap(step => step.combines);
    return 1 + Math.max(0, ...combines.flatMap(combine => [combine.target, ...combine.sources]));
}

// Behind a step: hatched where a warp diverges, crossed where a bank conflict makes lanes wait; both share its height.
function drawBands(step, y, width) {
    const names = [step.divergent_warps ? "band" : "", step.bank_degree > 1 ? "band clash" : ""].filter(Boolean);
    const height = (TREE.step - 14) / Math.max(1, names.length);
    return names.map((name, i) => svg("rect", {class: name, x: 2, y: y + 8 + i * height, width: width - 4, height}));
}

// The step's additions go from the cells above, the target's own among them, to those below.  isLarge: with
// numbers, and how many turns a bank conflict takes.
function drawTree(tree, isLarge) {
    const cells = cellsOf(tree), x = cell => TREE.margin + cell * TREE.cell + TREE.cell / 2, y = step => 14 + step * TREE.step;
    const inner = 2 * TREE.margin + cells * TREE.cell, width = inner + (isLarge ? TREE.room : 0), height = y(tree.steps.length) + 18;
    const least = isLarge ? `min-width: ${width * TREE.scaleLeast}px; ` : "";
    const picture = svg("svg", {class: "tree", viewBox: `0 0 ${width} ${height}`, role: "img",
                                style: `${least}max-width: ${width * 1.4}px`, "aria-label": tellTree(tree)});
    tree.steps.forEach((step, s) => {
        picture.append(...drawBands(step, y(s), inner));
        if (isLarge && step.bank_degree > 1) picture.append(svgText(`×${numeral(step.bank_degree)}`, inner + 2, y(s) + TREE.step / 2 + 4, "clashing"));
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
            else picture.append(laneShape("active", x(cell), y(s), !isLarge ? 6 : made.get(cell) === "all" ? 13 : 9));
            if (isLarge && made.has(cell))
                picture.append(svg("text", {class: "middle on-active", x: x(cell), y: y(s) + 4}, made.get(cell)));
        }
    }
    return picture;
}

// What lies behind the steps of these trees, if anything does.
function makeTreeLegend(rungs) {
    const steps = rungs.flatMap(rung => rung && rung.tree ? rung.tree.steps : []);
    const entry = (name, text) => ({picture: svgBox(name, 1, 1, 18, 18, 2), text});
    const entries = [steps.some(step => step.divergent_warps) ? entry("band", "a warp diverges") : null,
                     steps.some(step => step.bank_degree > 1) ? entry("band clash", "a bank conflict; ×2: twice the turns") : null].filter(Boolean);
    return entries.length ? makeLegend(entries) : null;
}

function tellTree(tree) {
    const parts = tree.steps.map((step, i) => `step ${i + 1}: ${plural(step.combines.length, "addition")}`
        + (step.divergent_warps ? `, ${plural(step.divergent_warps, "warp")} diverging` : "")
        + (step.bank_degree > 1 ? `, a bank conflict of degree ${numeral(step.bank_degree)}` : ""));
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
            element("td", {class: "sign"}, line.sign), codeCell(line.text)))));
}
