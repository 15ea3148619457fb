// Tables: who adds what to what, and what was counted beside what the closed forms predict.

const TALLY = [
    {key: "active_lanes", title: "active lanes"}, {key: "warps", title: "warps"},
    {key: "divergent_warps", title: "divergent warps"}, {key: "global_requests", title: "global requests"},
    {key: "shared_wavefronts", title: "shared wavefronts"}, {key: "bank_degree", title: "bank degree"},
];
const BLOCK_COUNTS = [
    {key: "step_count", title: "steps"},
    {key: "average_parallelism", title: "average parallelism, lanes per step"},
    {key: "utilization", title: "share of lanes used"}, {key: "barriers", title: "barriers"},
    {key: "atomics", title: "atomic operations"}, {key: "races", title: "races"},
    {key: "occupancy", title: "occupancy per multiprocessor"},
    {key: "resident_blocks", title: "resident blocks"},
];

// ---- counted beside predicted

function counted(count, predicted) {
    if (predicted === undefined) return {text: numeral(count)};
    const name = count === predicted ? "agrees" : "differs";
    return {text: `${numeral(count)} (${numeral(predicted)})`, class: name};
}

function tallyRow(name, tally, predicted) {
    return [name, ...TALLY.map(column => counted(tally[column.key], predicted && predicted[column.key]))];
}

function makeStepTable(data) {
    const predicted = data.predicted.steps || [];
    const rows = data.steps.map((step, i) => tallyRow(String(i + 1), step, predicted[i]));
    rows.push(tallyRow("all", data.total, data.predicted));
    return makeTable("Each step: counted (predicted)", ["step", ...TALLY.map(column => termed(column.title))], rows);
}

function makeBlockTable(data) {
    const isOfLaunch = key => data.cluster > 1 && ["barriers", "atomics", "races"].includes(key);
    const titleOf = row => isOfLaunch(row.key) ? `${row.title}, of the whole cluster` : row.title;
    const rows = BLOCK_COUNTS.map(row => [termed(titleOf(row)), counted(data.total[row.key], data.predicted[row.key])]);
    for (const key of ["global_requests", "shared_wavefronts"])
        rows.push([termed(`${key.replace("_", " ")} outside the tree`),
                   counted(data.outside[key], data.predicted.outside && data.predicted.outside[key])]);
    return makeTable("The block: counted (predicted)", ["", "count"], rows);
}

// What the tables have, and what is predicted of it: of each step, of the block, and outside the tree.
function comparedCounts({steps, total, outside, predicted}) {
    return [...steps.map((step, i) => [step, predicted.steps[i]]), [total, predicted], [outside, predicted.outside]];
}

function comparisonWords(data) {
    if (data.predicted.steps === undefined)
        return data.start.store === "result" ? "Every element goes into one word: there is no tree whose counts could be predicted."
            : "The closed forms assume a full tile; they do not predict the steps of this block.";
    const keys = [...TALLY, ...BLOCK_COUNTS].map(({key}) => key);
    const isAsPredicted = ([count, predicted]) => keys.every(key => [undefined, count[key]].includes((predicted || {})[key]));
    if (comparedCounts(data).every(isAsPredicted)) return "Each count of the simulator equals its prediction.";
    return data.schedule === "lockstep"
        ? "Where they differ, the compiled kernel does not do what the closed form assumes."
        : "The closed forms assume that the lanes of a warp stay together; under this schedule they ran apart.";
}

// ---- who adds what to what

const TERMS_SHOWN = 12;

// The symbol; a long one folds up.
function symbolWords(model, symbol) {
    if (symbol === null) return "unused";
    if (elementsOf(symbol).length <= TERMS_SHOWN) return symbol;
    return element("details", null, element("summary", null, shortSymbol(model, symbol).join(" ")), symbol);
}

function makeCombineTable(model, index, view) {
    const frame = model.frames[index], combines = shownCombines(frame, stageThreads(model, view));
    if (frame.kind !== "step") return element("p", {class: "faint"}, "No additions of the tree here.");
    if (!combines.length) return element("p", {class: "faint"}, `Warp ${view.warp} adds nothing in this step.`);
    const code = text => ({text, class: "code"});
    const heads = ["thread", code("operation"), code("value"), code("which is")];
    return makeTable("Who adds what to what", heads, combines.map(combine => [
        String(combine.thread), code(operation(model, frame.step, combine)), code(String(combine.value)),
        {text: symbolWords(model, combine.symbol), class: "code long"}]));
}
