(() => {
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const group = (n) => n.toLocaleString("en");
  const space = "http:" + "//www.w3.org/2000/svg";
  const put = (name, values, text) => {
    const e = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(values)) e.setAttribute(key, value);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const short = (n) => (n >= 1000 ? group(Math.round(n)) : Number(n.toPrecision(3)).toString());
  const bytes = (bits) => Math.ceil(bits / 8);

  const chooser = document.getElementById("chooser");
  if (chooser && data.length) {
    const [answer, why] = ["output", ".why"].map((name) => chooser.querySelector(name));
    const near = (from, to) => Math.abs(Math.log(from / to));
    const choose = () => {
      const d = Number(chooser.elements.d.value), size = Number(chooser.elements.size.value);
      if (!(d >= 1) || !(size >= 1)) { answer.textContent = "–"; why.textContent = "Both numbers must be at least 1."; return; }
      const real = data.filter((set) => set.kind !== "synthetic");
      const set = (real.length ? real : data).reduce((a, b) => (near(b.d, d) < near(a.d, d) ? b : a));
      const i = set.bits.map((_, k) => k).reduce((a, b) => (near(set.bits[b], 8 * size) < near(set.bits[a], 8 * size) ? b : a));
      const all = set.lines.filter((line) => line.points[i] && line.points[i].deep !== null);
      const allowed = all.filter((line) => chooser.elements.train.checked || !line.trained);
      const top = (lines) => lines.reduce((a, b) => (b.points[i].deep > a.points[i].deep ? b : a));
      if (!allowed.length) { answer.textContent = "–"; why.textContent = "No method without training was run there."; return; }
      const best = top(allowed);
      const level = allowed.filter((line) => best.points[i].deep - line.points[i].deep <= 0.01 && line.points[i].us !== null);
      const chosen = level.length ? level.reduce((a, b) => (b.points[i].us < a.points[i].us ? b : a)) : best;
      const p = chosen.points[i];
      answer.textContent = chosen.name;
      const said = [`On the nearest data measured, ${set.title} (d = ${group(set.d)}, ${group(set.bits[i])} bits = ${group(bytes(set.bits[i]))} bytes), it finds ${(100 * p.deep).toFixed(1)}% of the neighbours among the first ${set.depth}`];
      said.push(chosen === best ? ", the most of all that are allowed" : `, within a point of the most (${best.name}, ${(100 * best.points[i].deep).toFixed(1)}%)`);
      if (p.us !== null) said.push(`, and takes ${short(p.us)} µs per vector${level.length > 1 && chosen !== best ? ", the least of those" : ""}`);
      said.push(". ");
      const overall = top(all);
      if (overall.points[i].deep - p.deep > 0.01 && !chooser.elements.train.checked) said.push(`Training would find ${(100 * overall.points[i].deep).toFixed(1)}% (${overall.name}). `);
      if (near(set.d, d) > Math.log(2) || near(set.bits[i], 8 * size) > Math.log(2)) said.push("Your sizes are far from those measured: run the suite on your own file.");
      why.textContent = said.join("");
    };
    chooser.addEventListener("input", choose);
    chooser.addEventListener("submit", (event) => event.preventDefault());
    chooser.hidden = false;
    choose();
  }

  const box = document.getElementById("explorer");
  if (!box || !data.length) return;
  const [select, across, up] = ["data", "x", "y"].map((name) => box.querySelector(`select[name=${name}]`));
  const [chart, readout] = [".chart", "tbody"].map((name) => box.querySelector(name));
  const kinds = JSON.parse(box.dataset.kinds);
  let at = 0;
  const xs = {
    bits: ["code length k (bits)", (set, p, i) => set.bits[i]],
    bytes: ["bytes per vector", (set, p, i) => bytes(set.bits[i])],
    us: ["encode time (µs per vector)", (set, p) => p.us],
  };
  const colour = (line) => `var(--c-${line.colour}, #${line.colour})`;

  const draw = () => {
    const set = data[select.selectedIndex];
    const last = set.bits.length - 1;
    at = Math.min(at, last);
    const [xlabel, xof] = xs[across.value];
    const lines = set.lines.map((line) => ({ ...line, found: line.points
      .map((p, i) => p && { i, x: xof(set, p, i), y: p[up.value], std: p[`${up.value}_std`] || 0 })
      .filter((q) => q && q.x !== null && q.y !== null) })).filter((line) => line.found.length);
    const every = lines.flatMap((line) => line.found);
    const [width, height, left, right, top, bottom] = [chart.clientWidth, 360, 48, 100, 12, 44];
    const svg = put("svg", { width, height, role: "img", "aria-label": `${up.selectedOptions[0].text} against ${xlabel}, ${set.title}` });
    chart.replaceChildren(svg);
    remember();
    if (!every.length) {
      svg.append(put("text", { x: left, y: height / 2 }, "This was not measured on these data."));
      tell(set, lines);
      return;
    }
    const span = (values) => [Math.min(...values), Math.max(...values)];
    const [x0, x1] = span(every.map((q) => q.x));
    const [y0, y1] = span(up.value === "less" ? [...every.map((q) => q.y), 0] : [...every.map((q) => q.y), 1]);
    const room = 0.04 * (y1 - y0 || 1);
    const x = (v) => left + (width - left - right) * (x1 > x0 ? Math.log(v / x0) / Math.log(x1 / x0) : 0.5);
    const y = (v) => top + (height - top - bottom) * (1 - (v - y0 + room) / (y1 - y0 + 2 * room));
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20].find((s) => (y1 - y0) / s <= 6) || 50;
    for (let tick = Math.ceil(y0 / step) * step; tick <= y1 + 1e-9; tick += step) {
      svg.append(put("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: Math.abs(tick) < 1e-9 && up.value === "less" ? "zero" : "rule" }));
      svg.append(put("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, Number(tick.toFixed(2)).toString()));
    }
    const ticks = across.value === "us" ? [1, 3, 10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 1e6].filter((v) => v >= x0 && v <= x1) : set.bits.map((n) => (across.value === "bits" ? n : bytes(n)));
    ticks.forEach((n) => svg.append(put("text", { x: x(n), y: height - 22, "text-anchor": "middle" }, short(n))));
    svg.append(put("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle", class: "axis" }, xlabel));
    const ends = [];
    for (const line of lines) {
      const mark = { stroke: "none", "data-name": line.name };
      if (across.value !== "us") {
        const area = line.found.map((q) => `${x(q.x)},${y(q.y + q.std)}`).concat(line.found.map((q) => `${x(q.x)},${y(q.y - q.std)}`).reverse());
        svg.append(put("polygon", { points: area.join(" "), style: `fill: ${colour(line)}`, opacity: 0.13, ...mark }));
      }
      svg.append(put("polyline", { points: line.found.map((q) => `${x(q.x)},${y(q.y)}`).join(" "), fill: "none", style: `stroke: ${colour(line)}`,
        "stroke-width": 2, "stroke-dasharray": line.dash, "stroke-linejoin": "round", "data-name": line.name }));
      for (const q of line.found) svg.append(put("circle", { cx: x(q.x), cy: y(q.y), r: q.i === at ? 4.5 : 2.2, style: `fill: ${colour(line)}`, ...mark }));
      const end = line.found[line.found.length - 1];
      ends.push({ line, x: x(end.x), y: y(end.y) });
    }
    ends.sort((a, b) => a.y - b.y).forEach((end, i) => { end.at = Math.max(end.y, i ? ends[i - 1].at + 13 : top + 4); });
    const over = ends[ends.length - 1].at - (height - bottom);
    if (over > 0) for (const end of ends) end.at -= over;
    for (const end of ends) {
      svg.append(put("line", { x1: end.x + 5, y1: end.y, x2: width - right + 6, y2: end.at, class: "lead", "data-name": end.line.name }));
      svg.append(put("text", { x: width - right + 9, y: end.at + 4, class: "end", style: `fill: ${colour(end.line)}`, "data-name": end.line.name }, end.line.name));
    }
    chart.onpointermove = chart.onpointerdown = (event) => {
      const from = event.clientX - chart.getBoundingClientRect().left;
      const nearest = every.reduce((a, b) => (Math.abs(x(b.x) - from) < Math.abs(x(a.x) - from) ? b : a)).i;
      if (nearest !== at) { at = nearest; draw(); }
    };
    tell(set, lines);
  };

  const tell = (set, lines) => {
    box.querySelector("caption").textContent = `${set.title} (${kinds[set.kind] || set.kind}), ${group(set.bits[at])} bits`;
    const here = lines.map((line) => [line, line.points[at]]).filter(([, p]) => p && p[up.value] !== null).sort((a, b) => b[1][up.value] - a[1][up.value]);
    readout.replaceChildren(...here.map(([line, p]) => {
      const row = document.createElement("tr");
      const swatch = put("svg", { width: 26, height: 8, "aria-hidden": "true" });
      swatch.append(put("polyline", { points: "0,4 26,4", style: `stroke: ${colour(line)}`, "stroke-width": 2.5, "stroke-dasharray": line.dash }));
      row.insertCell().append(swatch, line.name);
      const digits = up.value === "less" ? 1 : 3, std = p[`${up.value}_std`];
      row.insertCell().textContent = p[up.value].toFixed(digits) + (std === null ? "" : ` ± ${std.toFixed(digits)}`);
      row.insertCell().textContent = p.us === null ? "–" : `${short(p.us)} µs`;
      const stress = (on) => chart.querySelectorAll("[data-name]").forEach((e) => { e.classList.toggle("faint", on && e.dataset.name !== line.name); });
      row.addEventListener("pointerenter", () => stress(true));
      row.addEventListener("pointerleave", () => stress(false));
      return row;
    }));
  };

  let ready = false;
  const remember = () => {
    if (ready) history.replaceState(null, "", `#explorer=${[data[select.selectedIndex].name, across.value, up.value, at].map(encodeURIComponent).join(",")}`);
  };
  data.forEach((set) => select.append(new Option(`${set.title} (${kinds[set.kind] || set.kind})`, set.name)));
  const [name, x, y, index] = location.hash.startsWith("#explorer=") ? location.hash.slice(10).split(",").map(decodeURIComponent) : [];
  if (data.some((set) => set.name === name)) select.value = name;
  if (x in xs) across.value = x;
  if ([...up.options].some((option) => option.value === y)) up.value = y;
  at = Math.max(0, Number(index) || 0);
  for (const control of [select, across, up]) control.addEventListener("change", () => { ready = true; draw(); });
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    ready = true;
    at = Math.max(0, Math.min(data[select.selectedIndex].bits.length - 1, at + step));
    draw();
  });
  box.hidden = false;
  if (name) box.scrollIntoView();
  new ResizeObserver(draw).observe(box);
})();
