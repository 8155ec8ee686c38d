// The first page's live picture: a query that can be dragged among four words, and what attention makes of it.
(() => {
  const place = document.getElementById("plane");
  const { words, X, asked, Q } = JSON.parse(document.getElementById("plane-numbers").textContent);
  const SIZE = 360, UNIT = 66, MIDDLE = SIZE / 2, LIMIT = 2.5, STEP = 0.1;
  const SVG = "http://www.w3.org/2000/svg";
  const x = (point) => MIDDLE + UNIT * point[0];
  const y = (point) => MIDDLE - UNIT * point[1];
  let query = [...Q[0]];

  function make(name, attributes, parent, text) {
    const drawn = parent.namespaceURI === SVG || name === "svg";
    const made = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  const buttons = make("div", { class: "plane-asked", role: "group", "aria-label": "the word to be written" }, place);
  const choices = asked.map((word, n) => make("button", { type: "button" }, buttons, word));
  const svg = make("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "application", tabindex: 0,
    "aria-label": "Drag the query, or move it with the arrow keys" }, place);
  make("line", { class: "axis", x1: 8, x2: SIZE - 8, y1: MIDDLE, y2: MIDDLE }, svg);
  make("line", { class: "axis", x1: MIDDLE, x2: MIDDLE, y1: 8, y2: SIZE - 8 }, svg);
  const spokes = words.map(() => make("line", { class: "spoke" }, svg));
  const discs = words.map((_, i) => make("circle", { class: "word", cx: x(X[i]), cy: y(X[i]) }, svg));
  words.forEach((word, i) => make("text", { class: "label", x: x(X[i]), y: y(X[i]) + (X[i][1] > 0 ? -22 : 34) }, svg, word));
  const output = make("path", { class: "output", d: "M0 -8L8 0L0 8L-8 0Z" }, svg);
  const arrow = make("line", { class: "query", x1: MIDDLE, y1: MIDDLE }, svg);
  const grip = make("circle", { class: "grip", r: 11 }, svg);
  const name = make("text", { class: "label query-label" }, svg, "query");
  const bars = make("div", { class: "plane-weights", "aria-live": "polite" }, place);
  const rows = words.map((word) => {
    const row = make("div", {}, bars);
    make("span", {}, row, word);
    const rail = make("span", { class: "rail" }, row);
    return { bar: make("span", { class: "bar" }, rail), number: make("span", {}, row) };
  });
  make("figcaption", {}, place, "Circles and bars: the attention weights. Diamond: the output, the weighted mean of the words.");

  function draw() {
    const scores = X.map((vector) => (vector[0] * query[0] + vector[1] * query[1]) / Math.SQRT2);
    const raised = scores.map((score) => Math.exp(score - Math.max(...scores)));
    const total = raised.reduce((sum, one) => sum + one, 0);
    const weights = raised.map((one) => one / total);
    const mean = [0, 1].map((axis) => weights.reduce((sum, weight, i) => sum + weight * X[i][axis], 0));
    weights.forEach((weight, i) => {
      discs[i].setAttribute("r", 5 + 17 * Math.sqrt(weight));
      discs[i].style.opacity = 0.3 + 0.7 * weight;
      const ends = { x1: x(X[i]), y1: y(X[i]), x2: x(mean), y2: y(mean) };
      for (const [key, value] of Object.entries(ends)) spokes[i].setAttribute(key, value);
      spokes[i].style.opacity = weight;
      rows[i].bar.style.width = `${100 * weight}%`;
      rows[i].number.textContent = weight.toFixed(2);
    });
    output.setAttribute("transform", `translate(${x(mean)} ${y(mean)})`);
    for (const [key, value] of [["x2", x(query)], ["y2", y(query)]]) arrow.setAttribute(key, value);
    grip.setAttribute("cx", x(query));
    grip.setAttribute("cy", y(query));
    const outside = Math.abs(query[0]) > 1.6, right = query[0] > 0;
    name.setAttribute("x", x(query) + (outside ? 0 : right ? 16 : -16));
    name.setAttribute("y", y(query) + (outside ? -18 : 6));
    name.style.textAnchor = outside ? "middle" : right ? "start" : "end";
    choices.forEach((choice, n) => choice.setAttribute("aria-pressed", Q[n][0] === query[0] && Q[n][1] === query[1]));
  }

  function move(to) {
    query = to.map((value) => Math.max(-LIMIT, Math.min(LIMIT, value)));
    draw();
  }

  function follow(event) {
    const box = svg.getBoundingClientRect(), scale = SIZE / box.width;
    move([((event.clientX - box.left) * scale - MIDDLE) / UNIT, (MIDDLE - (event.clientY - box.top) * scale) / UNIT]);
  }

  const ARROWS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
  choices.forEach((choice, n) => choice.addEventListener("click", () => move(Q[n])));
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); follow(event); });
  svg.addEventListener("pointermove", (event) => { if (event.buttons) follow(event); });
  svg.addEventListener("keydown", (event) => {
    const by = ARROWS[event.key];
    if (by) { event.preventDefault(); move([query[0] + by[0], query[1] + by[1]]); }
  });
  draw();
})();
