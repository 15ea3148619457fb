// The ladder's charts: bars in plain SVG, one for each rung.

// Its measures, and those on a phone, where all of it must be seen at once.
const BAR = {row: 24, name: 180, width: 440, value: 90}, BAR_NARROW = {row: 24, name: 136, width: 150, value: 74};
const IS_NARROW = matchMedia("(max-width: 40rem)");

// The chosen metric large, all of them small.  choose(index) is called for a bar that is clicked.
function makeChart(run, rungs, metrics, choose) {
    const box = element("div", {class: "chart"});
    const find = key => metrics.find(entry => entry.key === key);
    let metric = find("per_element") || find("instructions") || metrics[0], marked = -1;
    let isLogarithmic = isWide(rungs, metric);
    const redraw = () => box.replaceChildren(scroller(`Chart of ${metric.text}`,
        drawChart(run, rungs, metric, isLogarithmic, marked, choose)));
    const minis = metrics.map(entry => element("button",
        {type: "button", class: "mini", "aria-pressed": "false", "data-metric": entry.key,
         onclick: () => chooseMetric(entry)},
        entry.text, drawMini(rungs, entry)));
    const scales = [{value: "linear", text: "Linear"}, {value: "logarithmic", text: "Logarithmic"}];
    const scale = makeChoice("Scale", scales, value => {
        isLogarithmic = value === "logarithmic";
        redraw();
    }, isLogarithmic ? "logarithmic" : "linear");
    function chooseMetric(entry) {
        metric = entry;
        minis.forEach((mini, i) => mini.setAttribute("aria-pressed", String(metrics[i] === entry)));
        redraw();
    }
    chooseMetric(metric);
    IS_NARROW.addEventListener("change", redraw);
    return {
        node: element("div", {class: "columns chart-and-minis"},
            element("div", null, element("div", {class: "controls"}, scale.node), box,
                    element("p", {class: "faint"}, "▲ better than the rung before, ▼ worse; times within 1 % are alike.")),
            element("div", {class: "minis", role: "group", "aria-label": "What the chart shows"}, minis)),
        mark(index) {
            marked = index;
            redraw();
        },
    };
}

// Would the longest bar leave nothing to be seen of the others?
function isWide(rungs, metric) {
    const values = rungs.map(rung => valueOf(rung.row, metric)).filter(value => value > 0).sort((a, b) => a - b);
    return values.length > 1 && values[values.length - 1] > 50 * values[Math.floor(values.length / 2)];
}

// From 0 to 1; zero stays zero on a logarithmic scale, whose first decade is that below 1 or the least value.
function lengthOf(value, most, least, isLogarithmic) {
    if (!(value > 0) || !(most > 0)) return 0;
    if (!isLogarithmic) return value / most;
    const floor = Math.log10(least) - 1;
    return (Math.log10(value) - floor) / (Math.log10(most) - floor);
}

function ceilingOf(run, metric) {
    if (metric.key === "share") return run.rungs.some(row => typeof row.share === "number") ? 100 : undefined;
    if (metric.key === "per_element") return run.ceiling_microseconds > 0 ? run.ceiling_microseconds * 1e6 / run.n : undefined;
    if (metric.key !== "gbps") return undefined;
    const told = run.ceiling_gbps ?? Math.max(...run.rungs.map(row => row.ceiling_gbps || 0));
    return told > 0 ? told : undefined;
}

function drawChart(run, rungs, metric, isLogarithmic, marked, choose) {
    const bar = IS_NARROW.matches ? BAR_NARROW : BAR;
    const values = rungs.map(rung => valueOf(rung.row, metric)), ceiling = ceilingOf(run, metric);
    const told = values.filter(value => value > 0);
    const most = Math.max(...told, ceiling || 0, 0), least = Math.min(...told, most || 1);
    const place = value => bar.width * lengthOf(value, most, least, isLogarithmic);
    const height = rungs.length * bar.row + 26;
    const width = bar.name + bar.width + bar.value;
    const picture = svg("svg", {class: IS_NARROW.matches ? "narrow" : null, viewBox: `0 0 ${width} ${height}`, role: "img",
                                "aria-label": `${metric.text} of every rung; the numbers are in the table below`},
        svg("text", {x: 0, y: 14, class: "faint"}, metric.text));
    rungs.forEach((rung, i) => {
        const y = 22 + i * bar.row, value = values[i], length = place(value);
        const change = changeOf(i ? values[i - 1] : undefined, value, metric);
        const classes = ["bar", change, i === marked ? "now" : null].filter(Boolean).join(" ");
        const sign = {better: " ▲", worse: " ▼"}[change] || "";
        picture.append(svg("g", {class: "rung", "data-rung": rung.row.rung, onclick: () => choose(i)},
            svg("rect", {class: "ground", x: 0, y, width, height: bar.row}),
            svg("text", {x: 0, y: y + 16}, rung.id),
            svg("rect", {class: classes, x: bar.name, y: y + 3, width: length, height: bar.row - 6}),
            svg("text", {x: bar.name + length + 6, y: y + 16},
                value === undefined ? "–" : textOf(rung.row, metric) + sign)));
    });
    if (!ceiling) return picture;
    const x = bar.name + place(ceiling);
    const isLeft = x < bar.name + bar.width / 2;
    picture.append(svg("line", {class: "ceiling", x1: x, x2: x, y1: 16, y2: height}),
                   svg("text", {class: isLeft ? null : "end", x: isLeft ? x + 4 : x - 4, y: 14},
                       `${metric.goal === "less" ? "reading alone" : "ceiling"} ${numeral(Number(ceiling.toPrecision(metric.digits || 4)))}`));
    return picture;
}

// Columns, without words: the button that it stands on has them.
function drawMini(rungs, metric) {
    const values = rungs.map(rung => valueOf(rung.row, metric));
    const told = values.filter(value => value > 0), most = Math.max(...told, 0), least = Math.min(...told, most || 1);
    const picture = svg("svg", {viewBox: `0 0 ${rungs.length * 8} 40`, preserveAspectRatio: "none",
                                "aria-hidden": "true"});
    values.forEach((value, i) => {
        if (value === undefined) return;
        const height = 38 * lengthOf(value, most, least, isWide(rungs, metric));
        picture.append(svg("rect", {class: "bar", x: i * 8 + 1, y: 39 - height, width: 6, height: height + 1}));
    });
    return picture;
}
