// The head of a run page: progress and tiles.
(function () {
  "use strict";

  const { find, make } = window.bapo;
  const live = window.bapoLive;
  const SEEN_MOVING = 1; // Per cent: animating a smaller move takes a dozen frames without a visible change.

  function text(element, content) {
    if (element.textContent !== content) element.textContent = content;
  }

  function progressParts() {
    const done = make("span", "progress-done");
    done.id = "run-step";
    const track = make("span", "progress-track", make("span", "progress-bar"));
    track.setAttribute("role", "progressbar");
    track.setAttribute("aria-label", "Steps done");
    const steps = make("span", "progress-step", make("span", "fact-label", "step "), done, make("span", "progress-all"));
    return [steps, track, make("span", "progress-share"), make("span", "progress-time")];
  }

  live.drawProgress = (progress) => {
    const box = find("run-progress");
    if (!box) return;
    if (!box.childElementCount) box.append(...progressParts());
    const done = box.querySelector(".progress-done");
    if (done.textContent !== progress.step) {
      text(done, progress.step);
      dispatchEvent(new CustomEvent("bapo:step")); // For parts of the page that announce what is new.
    }
    const isKnown = progress.num_steps !== "";
    text(box.querySelector(".progress-all"), isKnown ? ` / ${progress.num_steps}` : "");
    const bar = box.querySelector(".progress-bar");
    bar.parentElement.hidden = box.querySelector(".progress-share").hidden = !isKnown;
    bar.className = `progress-bar status-${progress.status}`;
    const isFar = Math.abs(progress.percent - (bar.dataset.percent ?? 0)) >= SEEN_MOVING;
    bar.style.transitionDuration = isFar ? "" : "0s";
    bar.style.translate = `${progress.percent - 100}%`;
    bar.dataset.percent = progress.percent;
    bar.parentElement.setAttribute("aria-valuenow", Math.round(progress.percent));
    text(box.querySelector(".progress-share"), `${Math.floor(progress.percent)}\u202f%`);
    text(box.querySelector(".progress-time"), progress.time);
  };

  function newTile(name) {
    const sparkline = make("img", "tile-sparkline");
    sparkline.alt = "";
    const figures = make("div", "tile-figures", make("span", "tile-value"), make("span", "tile-change"));
    const tile = make("div", "tile", make("span", "tile-label"), figures, make("div", "tile-note"), sparkline);
    tile.dataset.tile = name;
    return tile;
  }

  live.drawTiles = (tiles) => {
    const box = find("run-tiles");
    if (!box) return;
    for (const tile of tiles) {
      let card = box.querySelector(`[data-tile="${tile.name}"]`);
      if (!card) {
        card = newTile(tile.name);
        box.append(card);
      }
      const label = card.querySelector(".tile-label");
      text(label, tile.label);
      label.title = tile.explanation;
      text(card.querySelector(".tile-value"), tile.value);
      const change = card.querySelector(".tile-change");
      text(change, tile.change || "");
      change.className = `tile-change ${tile.trend}`;
      const note = card.querySelector(".tile-note");
      text(note, tile.note);
      note.title = tile.note;
      const image = card.querySelector(".tile-sparkline");
      if (image.getAttribute("src") !== tile.sparkline) image.src = tile.sparkline;
    }
  };
})();
