// The stage: threads above the array, an arrow for every addition; above each cell its bank and its turn there.

const STAGE = {cellHeight: 34, threadRadius: 12, lanePitch: 36, gap: 22, margin: 14, left: 92, threadsY: 36,
               indexY: 84, copyY: 66, copyHeight: 26, bankY: 105, turnY: 122, cellsY: 128, nodeY: 205, afterY: 233, characterWidth: 8.2,
               symbolWidth: 6.6, largeWidth: 8.6, elementPitch: 24,
               elementPitchLow: 12, elementWidthMost: 1600, scaleMost: 1.3,
               above: 5, labelMost: 3, pitchLarge: 56, pitchBelow: 48, widthSmall: 500, widthWhole: 720, widthLoads: 780};
const CELLS_TOGETHER = 32; // more are shown a warp at a time
const CROWD = 20;          // more arrows are thin

function cellsMost(model) {
    return Math.max(...model.frames.map(frame => (frame.after || frame.before).length));
}

function showsAll(model) {
    return model.data.block <= CELLS_TOGETHER && cellsMost(model) <= CELLS_TOGETHER;
}

// ---- what is on it

function stageThreads(model, view) {
    const first = view.all ? 0 : view.warp * model.data.warp;
    const end = view.all ? model.data.block : Math.min(first + model.data.warp, model.data.block);
    return Array.from({length: end - first}, (_, i) => first + i);
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
    const isCrowded = cells.length > CELLS_TOGETHER;
    return Math.max(isCrowded ? 21 : 36,
                    longest * (view.symbols ? STAGE.symbolWidth : STAGE.characterWidth) + (isCrowded ? 4 : 14));
}

// Before the tree the elements stand above the cells, and there are more of them.
function elementWidth(frame, cells) {
    if (frame.kind !== "start" || frame.store === "input") return 0;
    const count = new Set(cells.flatMap(cell => elementsOf(frame.after[cell].symbol))).size;
    return count > ELEMENTS_MOST ? 0 : Math.min(count * (count > CELLS_TOGETHER ? STAGE.elementPitchLow : STAGE.elementPitch), STAGE.elementWidthMost);
}

// The letters of the longest text below the threads of a queue: what its word holds then.
function queuedMost(frame, threads) {
    return frame.store === "result" ? Math.max(0, ...shownCombines(frame, threads).map(({value}) => valueText(value).length + 1)) : 0;
}

function lanePitch(frame, threads) {
    return Math.max(STAGE.lanePitch, queuedMost(frame, threads) * STAGE.symbolWidth + 2);
}

// The width right of the names of the rows.
function roomOf(width) {
    return width - STAGE.left - STAGE.margin;
}

// x and threadX: the middle of each cell and thread.  Cells that are no neighbours have a gap between them.
function layOut(model, frame, view, threads) {
    const cells = shownCells(frame, view, threads), pitch = cellPitch(model, frame, view, cells);
    const isNumbered = frame.store !== "result" && cells.every(cell => threads.includes(cell));
    if (isNumbered && cells.length < threads.length && pitch <= STAGE.pitchBelow) return layBelow(cells, threads, pitch);
    const places = [];
    let end = STAGE.left;
    cells.forEach((cell, i) => {
        if (i && cell !== cells[i - 1] + 1) end += STAGE.gap;
        places.push(end + pitch / 2);
        end += pitch;
    });
    const width = Math.max(end + STAGE.margin, threads.length * lanePitch(frame, threads) + STAGE.left + STAGE.margin,
                           elementWidth(frame, cells), 300);
    const shift = (width - end - STAGE.margin) / 2, spread = roomOf(width) / threads.length;
    const x = new Map(cells.map((cell, i) => [cell, places[i] + shift]));
    const threadX = new Map(threads.map((thread, i) => [thread, STAGE.left + (i + 0.5) * spread]));
    return {cells, threads, x, threadX, width, pitch, spread};
}

// Cells of some of the threads' numbers, each below the thread of its number.
function layBelow(cells, threads, pitch) {
    const spread = Math.max(STAGE.lanePitch, pitch);
    const threadX = new Map(threads.map((thread, i) => [thread, STAGE.left + (i + 0.5) * spread]));
    const x = new Map(cells.map(cell => [cell, threadX.get(cell)]));
    return {cells, threads, x, threadX, width: STAGE.left + threads.length * spread + STAGE.margin, pitch, spread};
}

// Of the widest moment of a kind, where all is shown.
function widthOfFrames(model, kind, symbols) {
    const view = {all: true, symbols}, threads = stageThreads(model, view);
    return Math.max(0, ...model.frames.filter(frame => frame.kind === kind).map(frame => layOut(model, frame, view, threads).width));
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
    return [rowName(frame.store === "registers" ? "thread" : "index", STAGE.indexY),
            layout.cells.map(cell => indexText(cell, layout.x.get(cell), STAGE.indexY))];
}

function indexText(text, x, y) {
    return svgText(text, x, y, "middle faint small");
}

function rowName(text, y) {
    return svgText(text, STAGE.left - 8, y, "end faint small");
}

// ---- where cells lie: their banks, or sectors; and when the access that is looked at is served there

// The banks of a cell of shared memory: "3", or "6-7" where it is wider than a word.
function bankText(model, cell) {
    const {element_nbytes: nbytes, shared_offset: offset, banks} = model.data;
    const wordAt = byte => Math.floor((offset + byte) / WORD_NBYTES) % banks;
    const first = wordAt(cell * nbytes), last = wordAt((cell + 1) * nbytes - 1);
    return first === last ? String(first) : `${first}-${last}`;
}

// {cell: {turn, isConflict}} of the access that is looked at, and of its like in the other warps.
function turnsOf(model, index, view) {
    const turns = new Map();
    for (let warp = 0; warp < model.warpCount; warp++) {
        const access = accessesOf(model, index, warp)[view.access];
        if (!access || access.space !== "shared" || !(view.all || warp === view.warp)) continue;
        const crowded = isConflict(access) ? crowdedBanks(model, access).map(({bank}) => bank) : [];
        for (const {word, bank, wavefront} of wordsOf(model, access))
            turns.set(cellOfWord(model, word), {turn: wavefront + 1, isConflict: crowded.includes(bank)});
    }
    return turns;
}

function drawPlaces(model, index, layout, view) {
    const {store} = model.frames[index], nbytes = model.data.element_nbytes;
    const each = (y, textOf) => layout.cells.map(cell => indexText(textOf(cell), layout.x.get(cell), y));
    if (store === "input") return [rowName("sector", STAGE.bankY),
                                   each(STAGE.bankY, cell => Math.floor(cell * nbytes / SECTOR_NBYTES))];
    if (store !== "shared") return null;
    const turns = turnsOf(model, index, view);
    return [layout.cells.filter(cell => (turns.get(cell) || {}).isConflict).map(cell => drawConflict(layout, cell)),
            rowName("bank", STAGE.bankY), each(STAGE.bankY, cell => bankText(model, cell)),
            turns.size ? rowName("turn", STAGE.turnY) : null,
            layout.cells.filter(cell => turns.has(cell)).map(cell => drawTurn(layout, cell, turns.get(cell)))];
}

// Behind the bank and the turn of a cell that another lane's word keeps from being served at once, in the large letters of a phone too.
function drawConflict(layout, cell) {
    const width = Math.min(30, layout.pitch - 3), x = layout.x.get(cell) - width / 2, top = STAGE.bankY - 16;
    return [svgBox("box conflict", x, top, width, STAGE.cellsY - 2 - top, 3),
            svgBox("plate", x + 3, top + 2, width - 6, STAGE.cellsY - 6 - top, 2)];
}

function drawTurn(layout, cell, {turn, isConflict}) {
    const name = isConflict ? "turn middle small clashing" : "turn middle small";
    return svg("text", {class: name, x: layout.x.get(cell), y: STAGE.turnY, "data-cell": cell}, turn);
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

function isUnused(frame, combine) {
    return combine.symbol === null && frame.store === "registers";
}

// turn: of the thread's additions in this step.
function drawCombine(frame, layout, combine, turn) {
    const target = layout.x.get(combine.target), bottom = STAGE.cellsY + STAGE.cellHeight;
    const attributes = {class: isUnused(frame, combine) ? "combine unused" : "combine", "data-thread": combine.thread, "data-target": combine.target};
    if (frame.store === "result") return svg("g", attributes, drawQueued(layout, combine, turn));
    return svg("g", attributes, drawReach(layout, combine.thread, target, STAGE.indexY - 14),
               svg("path", {class: "arrow", d: `M${target} ${bottom}V${STAGE.nodeY - 11}`}),
               combine.sources.map(source => arrow(bend(layout.x.get(source), bottom, target))));
}

const QUEUED_MOST = 7; // turns of a thread for which there is room below it

// One after the other at one word: what the word holds after each of the thread's turns, above the ways of all threads to it.
function drawQueued(layout, combine, turn) {
    const x = layout.threadX.get(combine.thread), words = `→${valueText(combine.value)}`;
    return turn < QUEUED_MOST ? svgText(turn + 1 < QUEUED_MOST ? words : "⋮", x, STAGE.threadsY + 32 + 13 * turn, "middle small haloed") : null;
}

// How many additions of the same thread come before each.
function turnsOfThreads(combines) {
    const counts = new Map();
    return combines.map(({thread}) => {
        const turn = counts.get(thread) || 0;
        counts.set(thread, turn + 1);
        return turn;
    });
}

function drawNode(model, layout, target) {
    const x = layout.x.get(target), sign = INFIX[model.data.op] || model.data.op.slice(0, 3);
    const isWord = sign.length > 1;
    return svg("g", {class: "node"}, arrow(`M${x} ${STAGE.nodeY + 11}V${STAGE.afterY - 1}`),
               svg("circle", {cx: x, cy: STAGE.nodeY, r: 11}),
               svgText(sign, x, STAGE.nodeY + (isWord ? 3 : 5), isWord ? "middle tiny" : "middle sign"));
}

function drawStep(model, index, layout, view) {
    const frame = model.frames[index];
    const combines = shownCombines(frame, layout.threads), isQueue = frame.store === "result", turns = turnsOfThreads(combines);
    const targets = new Set(combines.map(combine => combine.target));
    const reads = new Set(isQueue ? [] : combines.flatMap(combine => combine.sources));
    const roleBefore = cell => reads.has(cell) ? "read" : targets.has(cell) ? "own" : "";
    const roleAfter = cell => targets.has(cell) ? "made" : "rest";
    return [
        isQueue ? combines.map(({thread, target}) => drawReach(layout, thread, layout.x.get(target), STAGE.nodeY - 12)) : null,
        svg("g", {class: combines.length > CROWD ? "crowd" : null}, combines.map((combine, i) => drawCombine(frame, layout, combine, turns[i]))),
        drawIndices(layout, frame), drawPlaces(model, index, layout, view),
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

const ELEMENT_ROOM = 18;   // narrower elements go without their texts
const ELEMENTS_MOST = 512; // more are one band

// So many elements that each would be a hair: a band, from which each cell gets its share.
function drawBand(layout, frame, count, whose) {
    const width = roomOf(layout.width), middle = STAGE.left + width / 2, y = STAGE.cellsY;
    const each = layout.cells.map(cell => elementsOf(frame.after[cell].symbol).length);
    const least = Math.min(...each), most = Math.max(...each);
    const words = `${plural(count, "element")}${whose}, ${least === most ? most : `${least} to ${most}`} for each thread`;
    return [svgBox("box read", STAGE.left, y, width, STAGE.cellHeight, 3), svgText(words, middle, y + 21, "middle"),
            layout.cells.map(cell => arrow(`M${layout.x.get(cell)} ${y + STAGE.cellHeight}V${STAGE.afterY - 1}`))];
}

// What bulk copies bring: the block's elements, and for each copy an arrow from them into shared memory, which the threads read.
function drawCopies(model, layout) {
    const {copies} = model.data.outside, width = roomOf(layout.width), {copyY: y, copyHeight: height} = STAGE;
    const nbytes = copies.reduce((sum, copy) => sum + copy.nbytes, 0), middle = STAGE.left + width / 2;
    const words = `${plural(nbytes / model.data.element_nbytes, "element")} of the block: ${plural(copies.length, "bulk copy", "bulk copies")}`;
    const asking = [...new Set(copies.map(copy => copy.thread))].filter(thread => layout.threadX.has(thread));
    return [rowName("input", y + height / 2 + 4), asking.map(thread => drawReach(layout, thread, layout.threadX.get(thread), y)),
            svgBox("box read", STAGE.left, y, width, height, 3), svgText(words, middle, y + height / 2 + 4, "middle"),
            copies.map((_, i) => svg("path", {class: "arrow copy", "marker-end": "url(#arrow)",
                d: `M${STAGE.left + (i + 0.5) * width / copies.length} ${y + height}V${STAGE.cellsY - 1}`}))];
}

// The elements above the cells that they go into.
function drawLoads(model, index, layout, view) {
    const frame = model.frames[index];
    const drawRow = (y, role) => drawCells(model, frame, layout, view, frame.after, y, () => role);
    if (frame.store === "input") return drawRow(STAGE.cellsY, "");
    const wantedBy = cell => elementsOf(frame.after[cell].symbol).map(element => ({cell, element}));
    const wanted = layout.cells.flatMap(wantedBy);
    const elements = [...new Set(wanted.map(want => want.element))].sort((a, b) => a - b);
    const isCopied = model.data.outside.copies.length > 0;
    const names = [isCopied ? drawCopies(model, layout) : null, elements.length ? rowName(isCopied ? "shared" : "input", STAGE.cellsY + 21) : null,
                   rowName(frame.store, STAGE.afterY + 21)];
    if (elements.length > ELEMENTS_MOST)
        return [names, drawBand(layout, frame, elements.length, view.all ? "" : ` of warp ${view.warp}`), drawRow(STAGE.afterY, "made")];
    const spread = roomOf(layout.width) / Math.max(1, elements.length);
    const x = new Map(elements.map((element, i) => [element, STAGE.left + (i + 0.5) * spread]));
    const width = Math.min(layout.pitch, spread) - (spread < ELEMENT_ROOM ? 1 : 4);
    const bottom = STAGE.cellsY + STAGE.cellHeight, top = STAGE.afterY - 1;
    const room = {room: spread, isNamed: !isCopied && fits(elements[elements.length - 1], spread)};
    return [
        loadsOf(model, layout.threads).filter(load => x.has(load.element))
            .map(load => drawReach(layout, load.thread, x.get(load.element), STAGE.cellsY - 16)),
        names,
        svg("g", {class: wanted.length > CROWD ? "crowd" : null}, wanted.map(({cell, element}) =>
            arrow(`M${x.get(element)} ${bottom}L${layout.x.get(cell)} ${top}`))),
        elements.map(element => drawElement(model, view, element, x.get(element), width, room)),
        drawRow(STAGE.afterY, "made"),
    ];
}

// In the largest letters that a small screen has, or in letters of that width.
function fits(text, room, each = STAGE.largeWidth) {
    return (String(text).length + 0.1) * each < room;
}

// room: of each; isNamed: there is room for the numbers of all.
function drawElement(model, view, element, x, width, {room, isNamed}) {
    const value = model.data.input[element];
    const text = view.symbols ? `a${element}` : valueText(value);
    const words = [isNamed ? indexText(element, x, STAGE.cellsY - 5) : null,
                   fits(text, room, STAGE.characterWidth) ? cellWords([text], x, STAGE.cellsY, view.symbols) : null];
    return svg("g", {class: "cell", "data-element": element},
               svg("title", null, `input[${element}] = ${value}`),
               svgBox("box read", x - width / 2, STAGE.cellsY, width, STAGE.cellHeight, 3),
               width < ELEMENT_ROOM - 4 ? null : words);
}

function drawResult(model, index, layout, view) {
    const frame = model.frames[index];
    const result = view.symbols ? shortSymbol(model, model.data.symbol).join(" ") : resultText(model.data);
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

// How its texts are sized on a small screen: "slim" has room; "fits" is seen whole, with larger texts; "broad" is
// scrolled on a phone; in a "dense" one there is no room for larger texts.
function kindOfStage(model, frame, {width, pitch, cells, threads}, view) {
    const longest = Math.max(queuedMost(frame, threads), ...cells.flatMap(cell => [String(cell), bankText(model, cell)]).map(text => text.length));
    if (view.symbols || cells.length > CELLS_TOGETHER || longest > STAGE.labelMost || pitch > STAGE.pitchLarge) return "dense";
    return width <= STAGE.widthSmall ? "slim" : width <= STAGE.widthWhole ? "fits" : "broad";
}

// The stage at a moment: of all threads, or of a warp.
function drawStage(model, index, view) {
    const frame = model.frames[index], layout = layOut(model, frame, view, stageThreads(model, view));
    const {width} = layout, height = STAGE.afterY + STAGE.cellHeight + 8;
    const draw = {start: drawLoads, step: drawStep, end: drawResult}[frame.kind];
    const style = `--width:${width}px;max-width:${STAGE.scaleMost * width}px`;
    return svg("svg", {class: `stage ${kindOfStage(model, frame, layout, view)}`, role: "img", viewBox: `0 ${-STAGE.above} ${width} ${height + STAGE.above}`, style,
                       "aria-label": caption(model, index)},
               drawThreads(model, index, layout), draw(model, index, layout, view));
}
