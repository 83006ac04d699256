// The head of a run page: progress and tiles.
(function () {
  "use strict";

  const live = (window.bapoLive = window.bapoLive || {});

  function part(parent, tag, className) {
    const element = document.createElement(tag);
    element.className = className;
    parent.append(element);
    return element;
  }

  function text(element, content) {
    if (element.textContent !== content) element.textContent = content;
  }

  live.drawProgress = drawProgress;
  function drawProgress(progress) {
    const box = document.getElementById("run-progress");
    if (!box) return;
    if (!box.childElementCount) {
      const steps = part(box, "span", "progress-step");
      text(part(steps, "span", "fact-label"), "step ");
      part(steps, "span", "progress-done").id = "run-step";
      part(steps, "span", "progress-all");
      const track = part(box, "span", "progress-track");
      track.setAttribute("role", "progressbar");
      track.setAttribute("aria-label", "Steps done");
      part(track, "span", "progress-bar");
      part(box, "span", "progress-share");
      part(box, "span", "progress-time");
    }
    const done = box.querySelector(".progress-done");
    if (done.textContent !== progress.step) {
      text(done, progress.step);
      dispatchEvent(new CustomEvent("bapo:step")); // For parts of the page that announce what is new.
    }
    text(box.querySelector(".progress-all"), ` / ${progress.num_steps}`);
    const bar = box.querySelector(".progress-bar");
    bar.className = `progress-bar status-${progress.status}`;
    bar.style.width = `${progress.percent}%`;
    bar.parentElement.setAttribute("aria-valuenow", Math.round(progress.percent));
    text(box.querySelector(".progress-share"), `${Math.floor(progress.percent)}\u202f%`);
    text(box.querySelector(".progress-time"), progress.time);
  }

  live.drawTiles = drawTiles;
  function drawTiles(tiles) {
    const box = document.getElementById("run-tiles");
    if (!box) return;
    for (const tile of tiles) {
      let card = box.querySelector(`[data-tile="${tile.name}"]`);
      if (!card) {
        card = part(box, "div", "tile");
        card.dataset.tile = tile.name;
        part(card, "span", "tile-label");
        const figures = part(card, "div", "tile-figures");
        part(figures, "span", "tile-value");
        part(figures, "span", "tile-change");
        part(card, "div", "tile-note");
        part(card, "img", "tile-sparkline").alt = "";
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
  }
})();
