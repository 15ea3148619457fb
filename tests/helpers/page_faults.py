"""What can be wrong with the look of a page, found in the browser: texts too faint, too small, cut or on one another; marks
too faint; places too small for a finger; what scrolls and no key reaches."""

LEAST_CONTRAST, LEAST_LARGE, LEAST_TEXT, LEAST_TARGET = 4.5, 3, 9, 24  # WCAG 2.2 AA: of texts, of large ones and of marks; pixels of a picture's texts; pixels of a target

FAULTS = r"""([leastContrast, leastLarge, leastText, leastTarget]) => {
    const faults = [], say = (kind, node, told) => faults.push([kind, node.outerHTML.slice(0, 120), told]);
    const isSeen = node => node.checkVisibility({visibilityProperty: true}) && !node.closest(".hidden, .skip, .prose thead");
    const brush = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const kept = (map, key, make) => map.has(key) ? map.get(key) : (map.set(key, make()), map.get(key));
    const colours = new Map(), grounds = new Map(), opacities = new Map(); // the same few are asked for again and again
    const colourOf = text => kept(colours, text, () => {
        brush.clearRect(0, 0, 1, 1);
        brush.fillStyle = text;
        brush.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
        return {rgb: [red, green, blue], alpha: alpha / 255};
    });
    const lay = (over, under) => under.map((value, i) => over.rgb[i] * over.alpha + value * (1 - over.alpha));
    const linear = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const luminance = rgb => rgb.reduce((sum, value, i) => sum + [0.2126, 0.7152, 0.0722][i] * linear(value / 255), 0);
    const contrast = (one, other) => {
        const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (light + 0.05) / (dark + 0.05);
    };
    const groundOf = node => kept(grounds, node, () => lay(colourOf(getComputedStyle(node).backgroundColor),
                                                           node.parentElement ? groundOf(node.parentElement) : [255, 255, 255]));
    // Plain numbers, as each pair of texts is compared: those of a DOMRect are computed at each access.
    const placeOf = node => {
        const {left, right, top, bottom, height} = node.getBoundingClientRect();
        return {left, right, top, bottom, height};
    };
    // What a text of a picture may stand on, behind its middle: of a pattern, each of its colours.
    const within = (at, x, y) => at.left <= x && x <= at.right && at.top <= y && y <= at.bottom;
    const paintOf = node => {
        const {fill, opacity, fillOpacity} = getComputedStyle(node), pattern = fill.match(/url\("?#([\w-]+)/);
        const faded = colour => ({...colour, alpha: colour.alpha * opacity * fillOpacity});
        if (!pattern) return [faded(colourOf(fill))];
        return [...document.getElementById(pattern[1]).children].flatMap(part => [getComputedStyle(part)[part.matches("rect") ? "fill" : "stroke"]])
            .map(colour => faded(colourOf(colour)));
    };
    // Of a rectangle but for its corners it is told by four comparisons: thousands of calls of isPointInFill take longer than all else.
    const isInFill = (node, x, y) => {
        const point = new DOMPoint(x, y).matrixTransform(node.getScreenCTM().inverse());
        if (!node.matches("rect")) return node.isPointInFill(point);
        const {rx, ry} = getComputedStyle(node), corner = Math.max(parseFloat(rx) || 0, parseFloat(ry) || 0);
        const left = point.x - node.x.baseVal.value, top = point.y - node.y.baseVal.value;
        const across = Math.min(left, node.width.baseVal.value - left), down = Math.min(top, node.height.baseVal.value - top);
        return across >= 0 && down >= 0 && (across >= corner || down >= corner || node.isPointInFill(point));
    };
    const groundsOf = (text, at, shapes, page) => {
        const {paintOrder, stroke, strokeWidth} = getComputedStyle(text);
        if (paintOrder.startsWith("stroke") && stroke !== "none" && parseFloat(strokeWidth) >= 3) return [colourOf(stroke).rgb];
        const x = (at.left + at.right) / 2, y = (at.top + at.bottom) / 2;
        const behind = shapes.filter(shape => within(shape.at, x, y) && shape.node.compareDocumentPosition(text) & 4 &&
            isInFill(shape.node, x, y));
        return behind.reduce((grounds, {node}) => grounds.flatMap(ground => paintOf(node).map(paint => lay(paint, ground))), [page]);
    };
    const opacityOf = node => node ? kept(opacities, node, () => getComputedStyle(node).opacity * opacityOf(node.parentElement)) : 1;
    const overlap = (a, b) => [Math.min(a.right, b.right) - Math.max(a.left, b.left),
                               Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];

    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode, node = text.parentElement, words = text.data.trim().slice(0, 40);
        if (!words || node.closest("script, style, noscript, svg, :disabled") || !isSeen(node)) continue;
        const ground = groundOf(node), ratio = contrast(lay(colourOf(getComputedStyle(node).color), ground), ground);
        if (ratio < leastContrast) say("contrast", node, `${words} ${ratio}`);
        const size = parseFloat(getComputedStyle(node).fontSize);
        if (size < leastText) say("tiny", node, `${words} ${size}`);
        const range = document.createRange(), block = node.closest("td, th, button:not(.line), li, dd, dt, h1, h2, h3");
        range.selectNodeContents(text);
        const edge = block ? block.getBoundingClientRect().right : Infinity;
        if (range.getBoundingClientRect().right - edge > 2) // spaces at the end of a line may
            for (const word of text.data.matchAll(/\S+/g)) {
                range.setStart(text, word.index);
                range.setEnd(text, word.index + word[0].length);
                if (range.getBoundingClientRect().right - edge > 2) say("spilt", block, `${words}: ${word[0]}`);
            }
    }
    const quiet = ".rest, .slot, .plate, .word, .warp, .ground, .band, .reach"; // frames of what a text or a place tells
    const strongestOf = (node, ground) => {
        const style = getComputedStyle(node), [paint] = paintOf(node), isDrawn = style.stroke !== "none" && parseFloat(style.strokeWidth) > 0;
        const inks = [...style.fill === "none" ? [] : [{...paint, alpha: paint.alpha / style.opacity}], ...isDrawn ? [colourOf(style.stroke)] : []];
        return Math.max(...inks.map(ink => contrast(lay({...ink, alpha: ink.alpha * opacityOf(node)}, ground), ground)));
    };
    for (const picture of document.querySelectorAll("svg:not(.patterns)")) {
        const frame = picture.getBoundingClientRect();
        const placed = [...picture.querySelectorAll("text")].filter(isSeen).map(node => ({node, at: placeOf(node)}));
        const shapes = [...picture.querySelectorAll("rect, circle, path")].filter(node => isSeen(node) && getComputedStyle(node).fill !== "none")
            .map(node => ({node, at: placeOf(node)}));
        const page = groundOf(picture.parentElement);
        for (const node of picture.querySelectorAll(`:is(rect, circle, path, line):not(${quiet})`)) {
            const ratio = isSeen(node) ? strongestOf(node, page) : leastLarge;
            if (ratio < leastLarge) say("mark", node, ratio);
        }
        const frames = [...picture.querySelectorAll("rect")].filter(node => isSeen(node) && getComputedStyle(node).stroke !== "none")
            .map(node => ({at: placeOf(node)}));
        const inkOf = node => { // of digits and capitals: what stands on the line that y names
            const {a, b, f, d} = node.getScreenCTM(), size = parseFloat(getComputedStyle(node).fontSize) * Math.hypot(a, b);
            const line = node.y.baseVal[0].value * d + f;
            return {top: line - 0.7 * size, bottom: line};
        };
        for (const {node, at} of placed.filter(({node}) => getComputedStyle(node).paintOrder === "normal")) {
            const ink = inkOf(node), middle = (at.left + at.right) / 2;
            for (const frame of frames)
                if (within(frame.at, middle, (frame.at.top + frame.at.bottom) / 2))
                    for (const border of [frame.at.top, frame.at.bottom])
                        if (ink.top + 0.5 < border && border < ink.bottom - 0.5) say("struck", node, `${node.textContent} ${border} in ${ink.top} to ${ink.bottom}`);
        }
        placed.forEach(({node, at}, i) => {
            const style = getComputedStyle(node), size = parseFloat(style.fontSize) * Math.hypot(node.getScreenCTM().a, node.getScreenCTM().b);
            const ink = colourOf(style.fill), isLarge = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
            const ratio = Math.min(...groundsOf(node, at, shapes, page)
                .map(ground => contrast(lay({...ink, alpha: ink.alpha * opacityOf(node)}, ground), ground)));
            if (ratio < (isLarge ? leastLarge : leastContrast)) say("contrast", node, `${node.textContent} ${ratio}`);
            if (size < leastText) say("tiny", node, `${node.textContent} ${size}`);
            if (at.left < frame.left - 1 || at.right > frame.right + 1) say("cut", node, node.textContent);
            for (const other of placed.slice(i + 1)) {
                const [across, down] = overlap(at, other.at);
                if (across > 2 && down > at.height / 2) say("overlap", node, `${node.textContent} and ${other.node.textContent}`);
            }
        });
    }
    for (const node of document.querySelectorAll("nav a, button:not(.line), input, select, summary")) {
        const {width, height} = node.getBoundingClientRect();
        if (isSeen(node) && (width < leastTarget - 0.01 || height < leastTarget - 0.01)) say("target", node, `${width} x ${height}`);
    }
    for (const node of document.querySelectorAll("body *")) {
        if (node.scrollWidth <= node.clientWidth + 1 || !/auto|scroll/.test(getComputedStyle(node).overflowX)) continue;
        if (isSeen(node) && node.tabIndex < 0 && !node.querySelector("a, button, [tabindex]")) say("no key", node, "");
    }
    if (document.documentElement.scrollWidth > innerWidth) say("too wide", document.body, document.documentElement.scrollWidth);
    if ([...document.querySelectorAll("h1")].filter(isSeen).length !== 1) say("headings", document.body, "not one h1");
    return faults;
}"""


def faults_of(page):
    """[kind, the node, what is wrong]: as the page is shown now."""
    return page.evaluate(FAULTS, [LEAST_CONTRAST, LEAST_LARGE, LEAST_TEXT, LEAST_TARGET])


FORMS = [(size, scheme) for size in ((390, 844), (820, 1180), (1440, 900)) for scheme in ("light", "dark")] + [((1024, 768), "light")]


def faults_in_every_form(show, path, fragment="", prepare=lambda page: None):
    """The faults of a page on a phone, a tablet and a desk, light and dark, and on a small laptop.  It is loaded once for each
    size: colours follow the scheme by its style alone."""
    found, pages = [], {}
    for size, scheme in FORMS:
        if size not in pages:
            pages[size] = show(path, size)
            if fragment:
                pages[size].goto(path.as_uri() + fragment)
            prepare(pages[size])
        pages[size].emulate_media(color_scheme=scheme)
        found += [(size, scheme, *fault) for fault in faults_of(pages[size])]
    return found
