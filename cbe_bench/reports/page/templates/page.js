"use strict";
(() => {
  const root = document.documentElement;
  const store = {
    read: () => { try { return localStorage.getItem("cbe-theme"); } catch { return null; } },
    write: (value) => { try { localStorage.setItem("cbe-theme", value); } catch { /* opened from disk without storage */ } },
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  if (store.read()) root.dataset.theme = store.read();
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    store.write(root.dataset.theme);
  });

  const contents = document.getElementById("contents");
  const wide = matchMedia("(min-width: 1180px)");
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });

  const key = (cell) => {
    const text = cell.dataset.key ?? cell.textContent.trim();
    const size = text === "inf" ? Infinity : Number(text);
    return text !== "" && !Number.isNaN(size) ? size : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? (a === b ? 0 : a - b)
      : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b, "en", { numeric: true });
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      // A table of several bodies is sorted body by body, each by its first line.
      const bodies = [...table.tBodies];
      const items = bodies.length > 1 ? bodies : [...bodies[0].rows];
      const cell = (item) => (item.rows ? item.rows[0] : item).cells[column];
      items.sort((a, b) => compare(key(cell(a)), key(cell(b))) * (down ? -1 : 1));
      (bodies.length > 1 ? table : bodies[0]).append(...items);
    }));
  }

  for (const chips of document.querySelectorAll(".chips")) {
    const cards = [...document.querySelectorAll("#claims .card")];
    chips.addEventListener("click", (event) => {
      const chip = event.target.closest("button");
      if (!chip) return;
      const on = chip.getAttribute("aria-pressed") !== "true";
      for (const other of chips.querySelectorAll("button")) other.setAttribute("aria-pressed", String(on && other === chip));
      for (const card of cards) card.hidden = on && card.dataset.outcome !== chip.dataset.outcome;
    });
    chips.hidden = false;
  }
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((a) => a.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  links.forEach((_, id) => { const section = document.getElementById(id); if (section) seen.observe(section); });
  addEventListener("beforeprint", () => document.querySelectorAll("#claims .card").forEach((card) => { card.hidden = false; }));
})();
