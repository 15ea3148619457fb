// What the page shows at each moment, from the data: frame 0 before the tree, one frame for each step, one for
// the result.

const INFIX = {sum: "+", prod: "×"};
const OP_SIGNS = {sum: "Σ", prod: "Π"};

function buildModel(data) {
    const frames = [{kind: "start", store: data.start.store, after: startCells(data)}];
    let cells = frames[0].after;
    for (const step of data.steps) {
        const before = stepStart(step, cells, frames[frames.length - 1].store);
        cells = applyChanges(applyCombines(before, step.combines), step.after);
        frames.push({kind: "step", step, store: step.store, before, after: cells});
    }
    if (data.steps.length) frames.push({kind: "end", store: frames[frames.length - 1].store, before: cells});
    return {data, frames, warpCount: Math.ceil(data.block / data.warp)};
}

function startCells(data) {
    return data.start.values.map((value, i) => ({value, symbol: data.start.symbols[i]}));
}

function stepStart(step, cells, storeBefore) {
    return applyChanges(step.store === storeBefore ? cells : [], step.before);
}

function applyChanges(cells, changes) {
    const changed = cells.slice();
    for (const {cell, value, symbol} of changes) changed[cell] = {value, symbol};
    return changed;
}

function applyCombines(cells, combines) {
    const changed = cells.slice();
    for (const {target, value, symbol} of combines) changed[target] = {value, symbol};
    return changed;
}

// ---- lanes

function warpOf(model, thread) {
    return Math.floor(thread / model.data.warp);
}

// The lanes that work in a frame: those that combine, or outside the tree those that touch memory.
function activeMask(model, index, warp) {
    const frame = model.frames[index];
    if (frame.kind === "step") return frame.step.active[warp] >>> 0;
    return outsideAccesses(model, index).filter(access => access.warp === warp)
        .reduce((mask, access) => (mask | access.lanes) >>> 0, 0);
}

function laneState(mask, lane) {
    return mask >>> lane & 1 ? "active" : mask ? "waiting" : "idle";
}

function lanesOf(mask) {
    return Array.from({length: 32}, (_, lane) => lane).filter(lane => mask >>> lane & 1);
}

// ---- accesses

function outsideAccesses(model, index) {
    const after = Math.min(index, model.data.steps.length);
    return model.frames[index].kind === "step" ? []
        : model.data.outside.accesses.filter(access => access.after === after);
}

function accessesOf(model, index, warp) {
    const frame = model.frames[index];
    const all = frame.kind === "step" ? frame.step.accesses : outsideAccesses(model, index);
    return all.filter(access => access.warp === warp);
}

function bankDegree(access) {
    return access.space === "shared" ? access.wavefronts / access.least : 1;
}

// How many lanes' atomic operations meet in one place, where they wait for each other.
function lanesInQueue(access) {
    if (access.kind !== "atomic" || access.space !== "global") return 1;
    const lanes = new Map();
    for (const offset of access.offsets) lanes.set(offset, (lanes.get(offset) || 0) + 1);
    return Math.max(...lanes.values());
}

function slowness(access) {
    return Math.max(bankDegree(access), lanesInQueue(access));
}

// The warp worth looking at first: the one with the slowest access, or that diverges, or works.
function interestingWarp(model, index) {
    let best = 0, most = -1;
    for (let warp = 0; warp < model.warpCount; warp++) {
        const degree = Math.max(0, ...accessesOf(model, index, warp).map(slowness));
        const score = 4 * degree + (activeMask(model, index, warp) ? 1 : 0);
        if (score > most) [best, most] = [warp, score];
    }
    return best;
}

// ---- words

function frameLabel(model, index) {
    const frame = model.frames[index];
    if (frame.kind === "start") return model.data.steps.length ? "Before the tree" : "Start";
    return frame.kind === "end" ? "Result" : `Step ${index} of ${model.data.steps.length}`;
}

function cellName(store, index) {
    return {input: `input[${index}]`, shared: `shared[${index}]`, registers: `thread ${index}'s value`,
            result: "result"}[store];
}

function operation(model, step, combine) {
    const target = cellName(step.store, combine.target);
    const sourceStore = step.store === "result" ? "registers" : step.store;
    const names = combine.sources.map(source => cellName(sourceStore, source));
    const most = [names[0], `${names[1]} … ${names[names.length - 1]}`];
    const sources = (names.length > 3 ? most : names).join(", ");
    const sign = INFIX[model.data.op];
    return sign ? `${target} ${sign}= ${sources}` : `${target} = ${model.data.op}(${target}, ${sources})`;
}

// A fraction of many digits is rounded to six; a whole number never is.
function valueText(value) {
    const text = String(value);
    if (text.length <= 10 || typeof value !== "number" || /^-?\d+$/.test(text)) return text;
    const short = value.toPrecision(6);
    return short.includes("e") ? short.replace(/\.?0*e\+?/, "e") : String(Number(short));
}

function elementsOf(symbol) {
    return [...(symbol || "").matchAll(/a(\d+)/g)].map(match => Number(match[1]));
}

// A symbol in little room, on one line or two: "a3", "a0+ a4", "Σ a0 …a7", "Σ a0,a2 …a6", "8 terms".
function shortSymbol(model, symbol) {
    if (symbol === null || symbol === undefined) return ["·"];
    const elements = elementsOf(symbol).sort((a, b) => a - b);
    if (elements.length === 0) return [symbol === "identity" ? "none" : symbol];
    if (elements.length === 1) return [symbol];
    const sign = OP_SIGNS[model.data.op] || model.data.op;
    const join = INFIX[model.data.op] || ",";
    if (elements.length === 2) return elementsOf(symbol).map((element, i) => `a${element}${i ? "" : join}`);
    const spacing = elements[1] - elements[0];
    const isRegular = elements.every((element, i) => element === elements[0] + i * spacing);
    if (!isRegular) return [String(elements.length), "terms"];
    const first = spacing === 1 ? `a${elements[0]}` : `a${elements[0]},a${elements[1]}`;
    return [`${sign} ${first}`, `…a${elements[elements.length - 1]}`];
}

const DIGITS_WHOLE = 6; // an integer of more is split where that is shorter

// A long integer near a round one, on two lines: 100000005 as "1e8" and "+5"; otherwise as it is, on one.
function valueLines(value) {
    const text = valueText(value);
    if (!Number.isSafeInteger(value) || Math.abs(value) < 10 ** DIGITS_WHOLE) return [text];
    const round = Number(value.toPrecision(1)), rest = value - round;
    const lines = [round.toExponential().replace("+", ""), rest ? `${rest < 0 ? "" : "+"}${rest}` : ""].filter(Boolean);
    return lines.every(line => 2 * line.length <= text.length) ? lines : [text];
}

// The lines of text in a cell.
function cellLines(model, cell, symbols) {
    if (!cell) return [];
    return symbols ? shortSymbol(model, cell.symbol) : valueLines(cell.value);
}
