// app.js adds comfort to pages that already work without it. Behaviour is
// asked for by data attributes; nothing here is needed to finish a task.
(() => {
  "use strict";
  const all = (sel, root = document) => [...root.querySelectorAll(sel)];

  // Toasts: good news leaves by itself, bad news stays until it is closed.
  const startToast = (toast) => {
    if (toast.dataset.started) return;
    toast.dataset.started = "1";
    if (toast.dataset.tone === "bad") return;
    let timer;
    const start = () => { timer = setTimeout(() => toast.remove(), 8000); };
    const stop = () => clearTimeout(timer);
    for (const on of ["mouseenter", "focusin"]) toast.addEventListener(on, stop);
    for (const off of ["mouseleave", "focusout"]) toast.addEventListener(off, start);
    start();
  };

  // A refused form: the summary takes the focus, so that it is read and the
  // links to the fields are one key away.
  const focusSummary = (root) => {
    const summary = root.querySelector(".error-summary");
    if (summary) summary.focus();
    return Boolean(summary);
  };

  const ready = (root) => {
    all(".toast", root).forEach(startToast);
    all("dialog[data-open]", root).forEach((d) => { if (!d.open) d.showModal(); });
  };

  document.addEventListener("DOMContentLoaded", () => { ready(document); focusSummary(document); });

  // htmx: a panel came in. Focus goes to its error summary, to what asks for it
  // with data-focus, or back to the button of the same id that was pressed.
  let pressed = "";
  document.addEventListener("htmx:before:request", () => { pressed = document.activeElement?.id || ""; });
  document.addEventListener("htmx:after:swap", (event) => {
    ready(document);
    all(".tablebox").forEach(countSelected);
    const problem = document.getElementById("problem");
    if (problem?.firstElementChild && event.detail?.ctx?.response?.status >= 400 && !document.querySelector(".error-summary")) {
      problem.scrollIntoView({ block: "nearest" });
      return;
    }
    if (event.detail?.ctx?.response?.status < 400) problem?.replaceChildren();
    if (event.detail?.ctx?.response?.status >= 400 && focusSummary(document)) return;
    if (document.activeElement && document.activeElement !== document.body) return;
    const next = document.querySelector("[data-focus]") || (pressed && document.getElementById(pressed));
    if (next) next.focus({ preventScroll: true });
  });
  // No answer at all: say so where failures are shown.
  document.addEventListener("htmx:error", () => {
    const problem = document.getElementById("problem");
    const words = document.getElementById("offline");
    if (problem && words) problem.replaceChildren(words.content.cloneNode(true));
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-print]")) { window.print(); return; }
    const close = event.target.closest("[data-close]");
    if (close) { close.closest(".toast, .notice, dialog")?.remove(); return; }

    // A button that leads to a page of its own opens its dialog instead.
    const opener = event.target.closest("[data-dialog]");
    const asked = opener && document.getElementById(opener.dataset.dialog);
    if (asked) { event.preventDefault(); if (!asked.open) asked.showModal(); return; }

    // Browsers without command/commandfor get the same dialogs from here.
    const invoker = event.target.closest("button[commandfor]");
    if (invoker && !("commandForElement" in HTMLButtonElement.prototype)) {
      const dialog = document.getElementById(invoker.getAttribute("commandfor"));
      const command = invoker.getAttribute("command");
      if (!dialog) return;
      if (command === "show-modal" && !dialog.open) { event.preventDefault(); dialog.showModal(); }
      if (command === "close" && dialog.open) { event.preventDefault(); dialog.close(); }
    }
  });

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.matches("[data-select-all]")) {
      all("tbody .tick", box.closest("table")).forEach((tick) => { tick.checked = box.checked; });
    }
    if (box.matches("[data-select-all], .tick")) countSelected(box.closest(".tablebox"));
    if (box.closest("form[data-autosubmit]") && box.matches("select, input[type=checkbox], input[type=radio]")) box.form.requestSubmit();
  });

  // The bulk bar says how many rows are ticked, in the page's own words.
  const countSelected = (table) => {
    if (!table) return;
    const ticks = all("tbody .tick", table);
    const n = ticks.filter((t) => t.checked).length;
    const head = table.querySelector("[data-select-all]");
    if (head) { head.checked = n > 0 && n === ticks.length; head.indeterminate = n > 0 && n < ticks.length; }
    all("[data-selected-many]", table).forEach((out) => {
      const words = n === 1 ? out.dataset.selectedOne : out.dataset.selectedMany;
      out.textContent = words.replace("{n}", n.toLocaleString(document.documentElement.lang));
    });
  };

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
    const search = document.querySelector("main input[type=search], input[type=search]");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  });

  // A form that must go once: the second press of an impatient finger is
  // swallowed here, and refused by the server anyway.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[method=post]") || form.hasAttribute("hx-post")) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "1";
    event.submitter?.setAttribute("data-busy", "");
  });
  window.addEventListener("pageshow", () => {
    all("form[data-sent]").forEach((form) => {
      delete form.dataset.sent;
      all("[data-busy]", form).forEach((b) => b.removeAttribute("data-busy"));
    });
  });
})();
