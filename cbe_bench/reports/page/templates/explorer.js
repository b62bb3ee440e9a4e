(() => {
  const box = document.getElementById("explorer");
  if (!box) return;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const [select, chart, readout] = ["select", ".chart", "tbody"].map((name) => box.querySelector(name));
  const space = chart.querySelector("svg").namespaceURI;
  const kinds = JSON.parse(box.dataset.kinds);
  const group = (n) => n.toLocaleString("en");
  const put = (name, values, text) => {
    const e = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(values)) e.setAttribute(key, value);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  let at = 0;

  const draw = () => {
    const set = data[select.selectedIndex];
    const last = set.bits.length - 1;
    at = Math.min(at, last);
    const [width, height, left, right, top, bottom] = [chart.clientWidth, 320, 38, 14, 12, 40];
    const x = (i) => left + (width - left - right) * (Math.log(set.bits[i] / set.bits[0]) / Math.log(set.bits[last] / set.bits[0]));
    const y = (recall) => top + (height - top - bottom) * (1 - recall);
    const svg = put("svg", { width, height, role: "img", "aria-label": `Recall against bits, ${set.name}` });
    for (const tick of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      svg.append(put("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "rule" }));
      svg.append(put("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(1)));
    }
    set.bits.forEach((n, i) => svg.append(put("text", { x: x(i), y: height - 20, "text-anchor": i === last ? "end" : "middle" }, group(n))));
    svg.append(put("text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle", class: "axis" }, "bits"));
    svg.append(put("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom, class: "cursor" }));
    for (const line of set.lines) {
      const found = line.points.map((p, i) => [p, i]).filter(([p]) => p);
      const area = found.map(([p, i]) => `${x(i)},${y(p.recall + (p.std || 0))}`)
        .concat(found.map(([p, i]) => `${x(i)},${y(p.recall - (p.std || 0))}`).reverse());
      svg.append(put("polygon", { points: area.join(" "), fill: line.colour, opacity: 0.12 }));
      svg.append(put("polyline", {
        points: found.map(([p, i]) => `${x(i)},${y(p.recall)}`).join(" "), fill: "none", stroke: line.colour,
        "stroke-width": 2, "stroke-dasharray": line.dash, "stroke-linejoin": "round", "data-name": line.name,
      }));
      const here = line.points[at];
      if (here) svg.append(put("circle", { cx: x(at), cy: y(here.recall), r: 3.5, fill: line.colour, "data-name": line.name }));
    }
    chart.replaceChildren(svg);
    chart.onpointermove = chart.onpointerdown = (event) => {
      const from = event.clientX - chart.getBoundingClientRect().left;
      const nearest = set.bits.map((_, i) => i).reduce((a, b) => (Math.abs(x(b) - from) < Math.abs(x(a) - from) ? b : a));
      if (nearest !== at) { at = nearest; draw(); }
    };
    tell(set);
  };

  const tell = (set) => {
    box.querySelector("caption").textContent = `${set.name} (${kinds[set.kind] || set.kind}), ${group(set.bits[at])} bits`;
    const found = set.lines.filter((line) => line.points[at]).sort((a, b) => b.points[at].recall - a.points[at].recall);
    readout.replaceChildren(...found.map((line) => {
      const { recall, std, time } = line.points[at];
      const row = document.createElement("tr");
      const swatch = put("svg", { width: 26, height: 8, "aria-hidden": "true" });
      swatch.append(put("polyline", { points: "0,4 26,4", stroke: line.colour, "stroke-width": 2.5, "stroke-dasharray": line.dash }));
      row.insertCell().append(swatch, line.name);
      row.insertCell().textContent = recall.toFixed(3) + (std === null ? "" : ` ± ${std.toFixed(3)}`);
      row.insertCell().textContent = time === null ? "–" : `${Number(time.toPrecision(2))}×`;
      const stress = (on) => chart.querySelectorAll("[data-name]").forEach((e) => {
        e.style.opacity = !on || e.dataset.name === line.name ? "" : "0.15";
      });
      row.addEventListener("pointerenter", () => stress(true));
      row.addEventListener("pointerleave", () => stress(false));
      return row;
    }));
  };

  data.forEach((set) => select.append(new Option(`${set.name} (${kinds[set.kind] || set.kind})`)));
  select.addEventListener("change", draw);
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    at = Math.max(0, Math.min(data[select.selectedIndex].bits.length - 1, at + step));
    draw();
  });
  box.hidden = false;
  new ResizeObserver(draw).observe(box);
})();
