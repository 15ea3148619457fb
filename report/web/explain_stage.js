// The stage: threads above the array, an arrow for every addition.

const STAGE = {cellHeight: 34, threadRadius: 12, lanePitch: 36, gap: 22, margin: 14, threadsY: 42, cellsY: 128,
               nodeY: 218, afterY: 262, characterWidth: 8.2, symbolWidth: 6.6, elementPitch: 24,
               elementWidthMost: 1600};
const CELLS_TOGETHER = 32; // more are shown a warp at a time
const LANES_TOGETHER = 16; // of such a warp, side by side: its cells may lie far apart

function showsAll(model) {
    const cells = Math.max(...model.frames.map(frame => (frame.after || frame.before).length));
    return model.data.block <= CELLS_TOGETHER && cells <= CELLS_TOGETHER;
}

// ---- what is on it

function stageThreads(model, view) {
    const first = view.all ? 0 : view.warp * model.data.warp;
    const end = view.all ? model.data.block : Math.min(first + model.data.warp, model.data.block);
    return Array.from({length: end - first}, (_, i) => first + i);
}

// The threads that are drawn side by side; a stage for each.
function stageGroups(model, view) {
    const threads = stageThreads(model, view), size = view.all ? threads.length : LANES_TOGETHER;
    const groups = [];
    for (let i = 0; i < threads.length; i += size) groups.push(threads.slice(i, i + size));
    return groups;
}

function shownCombines(frame, threads) {
    return frame.kind === "step" ? frame.step.combines.filter(combine => threads.includes(combine.thread)) : [];
}

// All cells, or those that the threads read and write; of threads at rest, those below them.
function shownCells(frame, view, threads) {
    const count = (frame.after || frame.before).length;
    if (view.all) return Array.from({length: count}, (_, i) => i);
    const combines = shownCombines(frame, threads);
    const read = frame.store === "result" ? [] : combines.flatMap(combine => combine.sources);
    const touched = new Set([...combines.map(combine => combine.target), ...read]);
    return (touched.size ? [...touched] : threads.filter(thread => thread < count)).sort((a, b) => a - b);
}

// ---- where it is

function cellPitch(model, frame, view, cells) {
    const lists = [frame.before, frame.after].filter(Boolean);
    const lines = cells.flatMap(i => lists.flatMap(list => cellLines(model, list[i], view.symbols)));
    const longest = Math.max(2, ...lines.map(line => line.length));
    return Math.max(36, longest * (view.symbols ? STAGE.symbolWidth : STAGE.characterWidth) + 14);
}

// Before the tree the elements stand above the cells, and there are more of them.
function elementWidth(frame, cells) {
    if (frame.kind !== "start" || frame.store === "input") return 0;
    const count = new Set(cells.flatMap(cell => elementsOf(frame.after[cell].symbol))).size;
    return Math.min(count * STAGE.elementPitch, STAGE.elementWidthMost);
}

// x and threadX: the middle of each cell and thread.  Cells that are no neighbours have a gap between them.
function layOut(model, frame, view, threads) {
    const cells = shownCells(frame, view, threads), pitch = cellPitch(model, frame, view, cells);
    const places = [];
    let end = STAGE.margin;
    cells.forEach((cell, i) => {
        if (i && cell !== cells[i - 1] + 1) end += STAGE.gap;
        places.push(end + pitch / 2);
        end += pitch;
    });
    const width = Math.max(end + STAGE.margin, threads.length * STAGE.lanePitch + 2 * STAGE.margin,
                           elementWidth(frame, cells), 300);
    const shift = (width - end - STAGE.margin) / 2, spread = (width - 2 * STAGE.margin) / threads.length;
    const x = new Map(cells.map((cell, i) => [cell, places[i] + shift]));
    const threadX = new Map(threads.map((thread, i) => [thread, STAGE.margin + (i + 0.5) * spread]));
    return {cells, threads, x, threadX, width, pitch, spread};
}

// ---- threads

function drawThreads(model, index, layout) {
    const warps = new Set(layout.threads.map(thread => warpOf(model, thread)));
    return svg("g", {class: "threads"}, [...warps].map(warp => drawWarp(model, index, layout, warp)));
}

function drawWarp(model, index, layout, warp) {
    const members = layout.threads.filter(thread => warpOf(model, thread) === warp);
    const mask = activeMask(model, index, warp), half = layout.spread / 2 - 2;
    const left = layout.threadX.get(members[0]) - half;
    const right = layout.threadX.get(members[members.length - 1]) + half;
    return [
        svgBox("warp", left, STAGE.threadsY - 20, right - left, 40, 8),
        svgText(`warp ${warp}`, left + 2, STAGE.threadsY - 25, "faint"),
        members.map(thread => drawThread(layout, thread, laneState(mask, thread % model.data.warp))),
    ];
}

function drawThread(layout, thread, state) {
    const x = layout.threadX.get(thread), name = state === "active" ? "middle small on-active" : "middle small";
    return svg("g", {class: "thread", "data-thread": thread, "data-state": state},
               svg("title", null, `thread ${thread}: ${state}`),
               laneShape(state, x, STAGE.threadsY, STAGE.threadRadius),
               svgText(thread, x, STAGE.threadsY + 4, name));
}

// From a thread to what it works on.
function drawReach(layout, thread, x, y) {
    return svg("path", {class: "reach", d: `M${layout.threadX.get(thread)} ${STAGE.threadsY + 13}L${x} ${y}`});
}

// ---- cells

function cellTitle(frame, index, cell) {
    if (!cell) return "";
    return `${cellName(frame.store, index)} = ${cell.value}${cell.symbol ? ` = ${cell.symbol}` : ""}`;
}

function drawCells(model, frame, layout, view, cells, y, classOf) {
    const left = layout.pitch / 2;
    return layout.cells.map((index, i) => {
        const x = layout.x.get(index), hasGap = i && index !== layout.cells[i - 1] + 1;
        return svg("g", {class: "cell", "data-cell": index},
                   svg("title", null, cellTitle(frame, index, cells[index])),
                   hasGap ? svgText("⋯", x - left - STAGE.gap / 2, y + 22, "middle faint") : null,
                   svgBox(`box ${classOf(index)}`, x - left + 2, y, layout.pitch - 4, STAGE.cellHeight, 3),
                   cellWords(cellLines(model, cells[index], view.symbols), x, y, view.symbols));
    });
}

function cellWords(lines, x, y, symbols) {
    const top = y + STAGE.cellHeight / 2 + (lines.length === 2 ? -2 : 4.5);
    return lines.map((line, i) => svgText(line, x, top + 12 * i, symbols ? "middle small" : "middle"));
}

function drawIndices(layout, frame) {
    if (frame.store === "result") return null;
    return layout.cells.map(cell => indexText(cell, layout.x.get(cell)));
}

function indexText(index, x) {
    return svgText(`[${index}]`, x, STAGE.cellsY - 5, "middle faint small");
}

// ---- additions

function arrow(path) {
    return svg("path", {class: "arrow", "marker-end": "url(#arrow)", d: path});
}

// From a cell down and across to the shoulder of the node.
function bend(from, top, target) {
    const side = Math.sign(from - target) || 1, reach = Math.min(40, Math.abs(from - target) / 2);
    const shoulder = `${target + (10 + reach) * side} ${STAGE.nodeY - 8 - reach / 2}`;
    return `M${from} ${top}C${from} ${top + 28} ${shoulder} ${target + 10 * side} ${STAGE.nodeY - 6}`;
}

function drawCombine(frame, layout, combine) {
    const target = layout.x.get(combine.target), bottom = STAGE.cellsY + STAGE.cellHeight;
    const name = combine.symbol === null && frame.store === "registers" ? "combine unused" : "combine";
    const attributes = {class: name, "data-thread": combine.thread, "data-target": combine.target};
    if (frame.store === "result") return svg("g", attributes, drawQueued(layout, combine, target));
    return svg("g", attributes, drawReach(layout, combine.thread, target, STAGE.cellsY - 16),
               svg("path", {class: "arrow", d: `M${target} ${bottom}V${STAGE.nodeY - 11}`}),
               combine.sources.map(source => arrow(bend(layout.x.get(source), bottom, target))));
}

// One after the other at one word: what the word holds after the thread's turn.
function drawQueued(layout, combine, target) {
    const x = layout.threadX.get(combine.thread);
    return [drawReach(layout, combine.thread, target, STAGE.nodeY - 12),
            svgText(`→${valueText(combine.value)}`, x, STAGE.threadsY + 32, "middle small")];
}

function drawNode(model, layout, target) {
    const x = layout.x.get(target), sign = INFIX[model.data.op] || model.data.op.slice(0, 3);
    const isWord = sign.length > 1;
    return svg("g", {class: "node"}, arrow(`M${x} ${STAGE.nodeY + 11}V${STAGE.afterY - 1}`),
               svg("circle", {cx: x, cy: STAGE.nodeY, r: 11}),
               svgText(sign, x, STAGE.nodeY + (isWord ? 3 : 5), isWord ? "middle tiny" : "middle sign"));
}

function drawStep(model, frame, layout, view) {
    const combines = shownCombines(frame, layout.threads), isQueue = frame.store === "result";
    const targets = new Set(combines.map(combine => combine.target));
    const reads = new Set(isQueue ? [] : combines.flatMap(combine => combine.sources));
    const roleBefore = cell => reads.has(cell) ? "read" : targets.has(cell) ? "own" : "";
    const roleAfter = cell => targets.has(cell) ? "made" : "rest";
    return [
        combines.map(combine => drawCombine(frame, layout, combine)),
        drawIndices(layout, frame),
        isQueue ? null : drawCells(model, frame, layout, view, frame.before, STAGE.cellsY, roleBefore),
        [...targets].map(target => drawNode(model, layout, target)),
        drawCells(model, frame, layout, view, frame.after, STAGE.afterY, roleAfter),
    ];
}

// ---- before and after the tree

// Which of the threads loads which element, before the tree.
function loadsOf(model, threads) {
    const nbytes = model.data.element_nbytes;
    const isLoad = access => access.array === "input" && access.kind === "load";
    const loadsOfLane = (access, lane, i) => Array.from({length: access.nbytes / nbytes}, (_, k) => (
        {thread: access.warp * model.data.warp + lane, element: access.offsets[i] / nbytes + k}));
    const loadsOfAccess = access => lanesOf(access.lanes).flatMap((lane, i) => loadsOfLane(access, lane, i));
    return outsideAccesses(model, 0).filter(isLoad).flatMap(loadsOfAccess)
        .filter(load => threads.includes(load.thread));
}

const ELEMENT_ROOM = 18; // narrower elements go without their texts

// The elements above the cells that they go into.
function drawLoads(model, frame, layout, view) {
    const drawRow = (y, role) => drawCells(model, frame, layout, view, frame.after, y, () => role);
    if (frame.store === "input") return drawRow(STAGE.cellsY, "");
    const wantedBy = cell => elementsOf(frame.after[cell].symbol).map(element => ({cell, element}));
    const wanted = layout.cells.flatMap(wantedBy);
    const elements = [...new Set(wanted.map(want => want.element))].sort((a, b) => a - b);
    const spread = (layout.width - 2 * STAGE.margin) / Math.max(1, elements.length);
    const x = new Map(elements.map((element, i) => [element, STAGE.margin + (i + 0.5) * spread]));
    const width = Math.min(layout.pitch, spread) - (spread < ELEMENT_ROOM ? 1 : 4);
    const bottom = STAGE.cellsY + STAGE.cellHeight, top = STAGE.afterY - 1;
    return [
        loadsOf(model, layout.threads).filter(load => x.has(load.element))
            .map(load => drawReach(layout, load.thread, x.get(load.element), STAGE.cellsY - 16)),
        svg("g", {class: wanted.length > CELLS_TOGETHER ? "crowd" : null}, wanted.map(({cell, element}) =>
            arrow(`M${x.get(element)} ${bottom}L${layout.x.get(cell)} ${top}`))),
        elements.map(element => drawElement(model, view, element, x.get(element), width)),
        drawRow(STAGE.afterY, "made"),
    ];
}

function drawElement(model, view, element, x, width) {
    const value = model.data.input[element];
    const words = [indexText(element, x),
                   cellWords([view.symbols ? `a${element}` : valueText(value)], x, STAGE.cellsY, view.symbols)];
    return svg("g", {class: "cell", "data-element": element},
               svg("title", null, `input[${element}] = ${value}`),
               svgBox("box read", x - width / 2, STAGE.cellsY, width, STAGE.cellHeight, 3),
               width < ELEMENT_ROOM - 4 ? null : words);
}

function drawResult(model, frame, layout, view) {
    const result = view.symbols ? shortSymbol(model, model.data.symbol).join(" ") : model.data.result;
    const text = `result ${result}`, width = text.length * STAGE.characterWidth + 20;
    const x = layout.x.get(0) || layout.width / 2, room = STAGE.margin + width / 2;
    const middle = Math.max(room, Math.min(x, layout.width - room));
    return [
        drawIndices(layout, frame),
        drawCells(model, frame, layout, view, frame.before, STAGE.cellsY, cell => cell === 0 ? "own" : "rest"),
        arrow(`M${x} ${STAGE.cellsY + STAGE.cellHeight}L${middle} ${STAGE.afterY - 1}`),
        svgBox("box made", middle - width / 2, STAGE.afterY, width, STAGE.cellHeight, 3),
        cellWords([text], middle, STAGE.afterY, false),
    ];
}

// ---- the whole

function drawStages(model, index, view) {
    const layouts = stageGroups(model, view).map(threads => layOut(model, model.frames[index], view, threads));
    const widest = Math.max(...layouts.map(layout => layout.width));
    return layouts.map(layout => drawStage(model, index, view, layout, layout.width / widest));
}

// `share`: of the room's width, so that all groups of threads have one scale.
function drawStage(model, index, view, layout, share) {
    const frame = model.frames[index], {width} = layout, height = STAGE.afterY + STAGE.cellHeight + 12;
    const draw = {start: drawLoads, step: drawStep, end: drawResult}[frame.kind];
    const style = `width:${100 * share}%;min-width:${0.72 * width}px;max-width:${2 * width}px`;
    return svg("svg", {class: "stage", role: "img", viewBox: `0 0 ${width} ${height}`, style,
                       "aria-label": caption(model, index)},
               drawThreads(model, index, layout), draw(model, frame, layout, view));
}

function caption(model, index) {
    const {data} = model, frame = model.frames[index];
    const threads = plural(data.block, "thread");
    if (frame.kind === "start") return `${plural(data.n, "element")}; a block of ${threads}.`;
    if (frame.kind === "end") return `The block's result is ${data.result}.`;
    const step = frame.step, parting = step.divergent_warps === 1 ? "diverges" : "diverge";
    const lanes = `${step.active_lanes} of ${plural(step.warps * data.warp, "lane")} active`;
    const words = [`${lanes} in ${plural(step.warps, "working warp")}`,
                   `${plural(step.divergent_warps, "warp")} ${parting}`];
    if (step.global_requests) words.push(plural(step.global_requests, "global request"));
    if (step.shared_wavefronts) words.push(plural(step.shared_wavefronts, "shared wavefront"),
                                           `bank degree ${numeral(step.bank_degree)}`);
    return `${words.join("; ")}.`;
}
