// The whole at a glance: the tree of additions, and which warps work in which step.

const TREE = {top: 24, rowHeight: 40, label: 62, widthMost: 1200, pitchMost: 44, pitchRoomy: 12, characterWidth: 7.3,
              widthBeside: 820, scaleLeast: 0.85};

// ---- the tree

// Drawn where all steps' partial results lie in one store, so that a column means the same from top to bottom.
function drawTree(model) {
    const {steps, start} = model.data, count = start.values.length;
    const isElsewhere = steps.some(step => step.store !== start.store);
    if (!steps.length || start.store === "result" || isElsewhere) return null;
    const layout = layOutTree(count, widestSum(steps)), width = layout.x(count) + 14, height = layout.y(steps.length + 0.6);
    const words = `The tree: ${plural(count, "partial result")} become one in ${plural(steps.length, "step")}`;
    const leaves = start.values.map((_, cell) => treeNode(layout, layout.x(cell), layout.y(0)));
    return svg("svg", {class: "tree", role: "img", viewBox: `0 0 ${width} ${height}`, "aria-label": words,
                       style: `min-width:${TREE.scaleLeast * width}px;max-width:${1.6 * width}px`},
               svg("g", {class: "row", "data-row": 0}, svgText("start", 2, layout.y(0) + 4, "faint"),
                   layout.isRoomy ? leaves : null),
               steps.map((step, i) => drawTreeRow(step, i + 1, layout)));
}

// The room that a partial result takes.
function sumWidth(value) {
    return valueText(value).length * STAGE.characterWidth + 8;
}

function widestSum(steps) {
    return Math.max(...steps.flatMap(step => step.combines.map(combine => sumWidth(combine.value))));
}

// ends: where the branches from each cell begin, which is where it was made last; made: the same by what it is the sum of.
// Neighbouring sums do not overlap, if there is room for all.
function layOutTree(count, widest) {
    const pitchMost = Math.max(TREE.pitchMost, widest + 4);
    const pitch = Math.max(2, Math.min(pitchMost, (TREE.widthMost - TREE.label) / count));
    const x = cell => TREE.label + (cell + 0.5) * pitch, y = row => TREE.top + row * TREE.rowHeight;
    const radius = Math.min(5, pitch / 4), isRoomy = pitch >= TREE.pitchRoomy;
    const ends = Array.from({length: count}, (_, cell) => ({x: x(cell), y: y(0) + (isRoomy ? radius : 0)}));
    return {pitch, radius, isRoomy, ends, made: new Map(), x, y};
}

function treeNode(layout, x, y) {
    return svg("circle", {class: "leaf", cx: x, cy: y, r: layout.radius});
}

// What a cell held before the step may have been made in another cell, as that of another warp, or be nothing.
function beginnings(step, layout) {
    const moved = new Map(step.before.map(({cell, symbol}) => [cell, symbol === null ? null : layout.made.get(symbol) || layout.ends[cell]]));
    return cells => cells.map(cell => moved.has(cell) ? moved.get(cell) : layout.ends[cell]).filter(Boolean);
}

// Without additions of nothing.
function drawTreeRow(step, row, layout) {
    const {x, y} = layout, beginningsOf = beginnings(step, layout);
    const used = step.combines.filter(({symbol, target, sources}) => symbol !== null && beginningsOf([target, ...sources]).length > 1);
    const branches = used.flatMap(({target, sources}) =>
        beginningsOf([target, ...sources]).map(end => ({from: end, to: {x: x(target), y: y(row)}})));
    const room = roomOfSums(used.map(combine => x(combine.target)));
    const sums = used.map(combine => drawSum(layout, combine, x(combine.target), y(row), room));
    used.forEach(({target, symbol, value}) => {
        const below = !layout.isRoomy ? 0 : hasNumber(value, room) ? 9 : layout.radius;
        layout.ends[target] = {x: x(target), y: y(row) + below};
        layout.made.set(symbol, layout.ends[target]);
    });
    return svg("g", {class: "row", "data-row": row}, svgText(`step ${row}`, 2, y(row) + 4, "faint"),
               drawBranches(branches.filter(isUpright), room), drawBranches(branches.filter(branch => !isUpright(branch)), room),
               layout.isRoomy ? sums : null);
}

function isUpright({from, to}) {
    return from.x === to.x;
}

// room: between neighbours' ends.  Many flat branches are a tone, not a solid: each is half as thick as they are apart.
function drawBranches(branches, room) {
    const apart = Math.min(...branches.map(({from, to}) => room * (to.y - from.y) / Math.hypot(to.x - from.x, to.y - from.y)));
    const path = branches.map(({from, to}) => `M${from.x} ${from.y}L${to.x} ${to.y}`).join("");
    return branches.length ? svg("path", {class: "branch", d: path, style: `--thick:${Math.min(1, apart / 3)}`}) : null;
}

// Between the nearest two of a row.
function roomOfSums(places) {
    const sorted = [...places].sort((a, b) => a - b);
    return Math.min(Infinity, ...sorted.slice(1).map((place, i) => place - sorted[i]));
}

function widthOfSum(value, room) {
    return Math.min(sumWidth(value), room - 1);
}

function hasNumber(value, room) {
    return widthOfSum(value, room) > valueText(value).length * TREE.characterWidth + 1;
}

// A node without its number where its neighbour's would lie on it.
function drawSum(layout, combine, x, y, room) {
    const text = valueText(combine.value), width = widthOfSum(combine.value, room);
    const box = [svgBox("leaf", x - width / 2, y - 9, width, 18, 5), svgText(text, x, y + 4, "middle")];
    return svg("g", null, svg("title", null, `${combine.symbol} = ${combine.value}`),
               hasNumber(combine.value, room) ? box : treeNode(layout, x, y));
}

// ---- warps by steps

// A grid of buttons; go(frame, warp) shows that step and warp.
function makeWarpGrid(model, go) {
    const {steps} = model.data, stepCount = steps.length;
    const warps = Array.from({length: model.warpCount}, (_, warp) => warp);
    const buttons = warps.flatMap(warp => steps.map((step, i) => warpButton(model, step, i + 1, warp, go)));
    const titles = ["warp", ...steps.map((_, i) => `step ${i + 1}`)];
    const heads = titles.map(title => element("th", {scope: "col"}, title));
    const rows = warps.map(warp => element("tr", null, element("th", {scope: "row"}, warp),
        buttons.slice(warp * stepCount, (warp + 1) * stepCount).map(button => element("td", null, button))));
    const node = element("table", {class: "warps", onkeydown: event => moveFocus(event, buttons, stepCount)},
                         element("caption", {class: "hidden"}, "Active lanes by warp and step"),
                         element("thead", null, element("tr", null, heads)),
                         element("tbody", null, rows));
    return {node, mark: (index, warp) => pressOne(buttons, index < 1 || index > stepCount
                                                           ? -1 : warp * stepCount + index - 1)};
}

// The one that is pressed, or the first, is where the tabulator key stops.
function pressOne(buttons, pressed) {
    buttons.forEach((button, i) => {
        button.setAttribute("aria-pressed", String(i === pressed));
        button.tabIndex = i === Math.max(0, pressed) ? 0 : -1;
    });
}

function warpButton(model, step, frame, warp, go) {
    const lanes = lanesOf(step.active[warp] >>> 0).length, parts = step.diverged.includes(warp);
    const accesses = step.accesses.filter(access => access.warp === warp), degree = Math.max(1, ...accesses.map(bankDegree));
    const words = `step ${frame}, warp ${warp}: ${plural(lanes, "active lane")}${parts ? ", diverges" : ""}`
        + (degree > 1 ? `, a bank conflict of degree ${numeral(degree)}` : "");
    const marks = `${parts ? " div" : ""}${degree > 1 ? ` ×${numeral(degree)}` : ""}`;
    return element("button", {
        type: "button", class: `share ${parts ? "parts" : lanes ? "works" : "rests"}${degree > 1 ? " clashes" : ""}`, "aria-pressed": "false",
        style: `--share:${lanes / model.data.warp}`, "aria-label": words, onclick: () => go(frame, warp),
    }, lanes ? `${lanes}${marks}` : "–");
}

// Up and down go through the warps; left and right are the player's.
function moveFocus(event, buttons, stepCount) {
    const by = {ArrowUp: -stepCount, ArrowDown: stepCount}[event.key];
    const to = buttons[buttons.indexOf(event.target) + by];
    if (!by || !to) return;
    event.preventDefault();
    to.click();
    to.focus();
}
