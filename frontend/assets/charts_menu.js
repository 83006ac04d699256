// The menu of a chart: one for all charts, created when it is opened.
(function () {
  "use strict";

  const { button: makeButton, icon: makeIcon, make } = window.bapo;
  const charts = window.bapoCharts;
  let menu = null;
  let button = null;
  let openedAt = 0;

  function entries(card) {
    const name = card.dataset.chart;
    const view = charts.viewOf(name);
    const isFull = card.classList.contains("full");
    const list = [
      ["expand", isFull ? "Leave full screen" : "Full screen", () => charts.toggleFull(name)],
    ];
    if (hasScale(name)) list.push(["sliders", "Logarithmic y-axis", () => charts.toggleLog(name), view.log]);
    if (card.dataset.axis) {
      list.push(null);
      for (const [kind, label] of [[null, "x-axis as the page"], ["step", "x-axis: step"], ["time", "x-axis: wall time"], ["rollouts", "x-axis: rollouts"]]) {
        list.push([kind === view.x ? "check" : "blank", label, () => charts.chooseAxis(name, kind), kind === view.x]);
      }
    }
    const graph = charts.plot(name);
    if (graph?.data.length) {
      const title = card.querySelector(".chart-title").textContent;
      list.push(null, ["columns", "Show as table", () => charts.showTable([graph], title)]);
    }
    list.push(null);
    if (graph) {
      list.push(
        ["download", "Download as PNG", () => charts.saveImage(name, "png")],
        ["download", "Download as SVG", () => charts.saveImage(name, "svg")],
        ["download", "Download as CSV", () => charts.saveCsv(name)],
        ["download", "Download as JSON", () => charts.saveJson(name)],
      );
    }
    list.push(["link", "Copy link", () => copyLink(name)]);
    return list;
  }

  // A matrix has names on its axes, and flows have no axes.
  function hasScale(name) {
    const axis = charts.plot(name)?._fullLayout?.yaxis;
    return Boolean(axis && axis.visible && axis.type !== "category");
  }

  function copyLink(name) {
    const address = new URL(location.href);
    address.searchParams.set("chart", name);
    navigator.clipboard.writeText(address.toString());
  }

  function item(icon, label, act, isOn) {
    const element = makeButton(makeIcon(isOn ? "check" : icon), "chart-menu-item", () => {
      const back = button;
      close();
      back.focus();
      act();
    });
    element.append(label);
    element.setAttribute("role", isOn === undefined ? "menuitem" : "menuitemcheckbox");
    if (isOn !== undefined) element.setAttribute("aria-checked", String(isOn));
    element.tabIndex = -1;
    return element;
  }

  function open(opener) {
    close();
    button = opener;
    const card = opener.closest(".chart-card");
    menu = make("div", "chart-menu");
    menu.setAttribute("role", "menu");
    menu.setAttribute("aria-label", opener.getAttribute("aria-label"));
    menu.append(...entries(card).map((entry) => (entry === null ? make("div", "chart-menu-line") : item(...entry))));
    document.body.append(menu);
    const at = opener.getBoundingClientRect();
    openedAt = at.top;
    menu.style.left = `${Math.max(8, Math.min(at.right, innerWidth - 8) - menu.offsetWidth)}px`;
    const below = at.bottom + 4 + menu.offsetHeight <= innerHeight;
    menu.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - 4 - menu.offsetHeight)}px`;
    opener.setAttribute("aria-expanded", "true");
    menu.querySelector("button").focus();
  }

  function close() {
    if (!menu) return;
    menu.remove();
    menu = null;
    button.removeAttribute("aria-expanded");
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.(".chart-menu-button");
    if (opener) {
      if (menu && opener === button) close();
      else open(opener);
    } else if (menu && !menu.contains(event.target)) close();
  });

  document.addEventListener("keydown", (event) => {
    if (!menu) return;
    const items = [...menu.querySelectorAll("button")];
    const now = items.indexOf(document.activeElement);
    const moves = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items.length - 1 };
    if (event.key in moves) {
      event.preventDefault();
      items.at(moves[event.key] % items.length).focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      const back = button;
      close();
      if (event.key === "Escape") {
        event.stopPropagation();
        back.focus();
      }
    }
  }, true);
  // The event of a scroll that ended just before the click comes after it, and moves nothing any more.
  addEventListener("scroll", () => {
    if (menu && Math.abs(button.getBoundingClientRect().top - openedAt) > 1) close();
  }, { passive: true, capture: true });
  addEventListener("bapo:view", close);
})();
