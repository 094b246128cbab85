// review.js saves a review while it is written. The page works without it: its
// buttons save and submit. What is typed lives on the page and on the server,
// never in the browser's storage.
(() => {
  "use strict";
  const form = document.querySelector("form[data-review]");
  if (!form) return;
  const status = form.querySelector(".autosave");
  const words = status.querySelector("[data-words]");
  const problem = document.getElementById("problem");
  const quiet = 1000;  // ms without a key before a save
  const longest = 5000; // ms of steady typing before one
  let dirty = false;   // the page holds something the server was not sent
  let sending = null;  // the save under way, as a promise of whether it worked
  let pending = null;  // a body whose answer never came: it is sent again before a newer one
  let stopped = false; // the server said no: the person decides
  let refused = false; // an answer cannot be as it is: wait until something changes
  let leaving = false;
  let timer = 0, since = 0, wait = 0;

  form.querySelector("[data-without-script]").hidden = true;

  const show = (state, text) => {
    status.dataset.state = state;
    words.textContent = text;
    status.querySelector("use").setAttribute("href", status.dataset[{ saved: "iconSaved", saving: "iconSaving", failed: "iconFailed" }[state]]);
  };

  const say = (template, text) => {
    const notice = document.getElementById(template).content.cloneNode(true);
    notice.querySelector("[data-words]").textContent = text;
    problem.replaceChildren(notice);
    problem.scrollIntoView({ block: "nearest" });
  };

  const schedule = (ms) => { clearTimeout(timer); timer = setTimeout(save, ms); };

  // save sends what is on the page, or what is still unanswered. One at a time,
  // so that the versions follow one another.
  const save = () => {
    if (sending) return sending;
    clearTimeout(timer);
    if (stopped || refused || (!dirty && !pending)) return Promise.resolve(!stopped && !refused);
    if (!pending) {
      const data = new URLSearchParams(new FormData(form));
      data.delete("then");
      pending = data.toString();
      dirty = false; since = 0;
    }
    show("saving", status.dataset.saving);
    sending = send(pending).finally(() => { sending = null; if (dirty && !stopped && !refused && !wait) schedule(quiet); });
    return sending;
  };

  const send = async (body) => {
    let answer, said;
    try {
      answer = await fetch(form.action, {
        method: "POST", body, redirect: "manual", keepalive: body.length < 60000,
        headers: { "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded" },
      });
      if (answer.status >= 500) throw new Error(String(answer.status));
      if (answer.headers.get("Content-Type")?.startsWith("application/json")) said = await answer.json();
    } catch {
      wait = Math.min(30000, wait ? wait * 2 : 2000);
      show("failed", status.dataset.offline);
      schedule(wait);
      return false;
    }
    wait = 0; pending = null;
    if (answer.ok && said) {
      form.elements.version.value = said.version;
      status.dataset.offline = said.offline;
      form.querySelector("[data-answered]").textContent = said.answered_words;
      form.querySelector("progress").value = said.answered;
      show("saved", said.saved);
      problem.replaceChildren();
      return true;
    }
    show("failed", status.dataset.unsaved);
    if (answer.status === 422 && said) { // one answer cannot be: typing on mends it
      dirty = refused = true;
      say("unsaved", said.problem);
      return false;
    }
    stopped = true;
    dirty = true; // so that leaving the page asks first
    say(answer.status === 409 ? "stale" : "unsaved", said ? said.problem : status.dataset.ended);
    return false;
  };

  const changed = () => {
    if (stopped) return;
    dirty = true; refused = false;
    const now = Date.now();
    since ||= now;
    if (!wait) schedule(Math.max(0, Math.min(quiet, since + longest - now)));
  };
  form.addEventListener("input", changed);
  form.addEventListener("change", changed);

  window.addEventListener("online", () => { if (wait) { wait = 0; save(); } });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") save(); });
  window.addEventListener("beforeunload", (event) => { if (!leaving && (dirty || pending)) event.preventDefault(); });

  // A submit waits for the save under way, or the two would meet as strangers.
  // What then is dirty goes along with the form itself.
  form.addEventListener("submit", async (event) => {
    if (leaving) return;
    const submitter = event.submitter;
    if (sending || pending) {
      event.preventDefault();
      event.stopPropagation(); // app.js must not count this one as sent
      if (sending) await sending; else await save();
      if (pending) return; // no connection: it is said in the bar
    }
    leaving = true;
    clearTimeout(timer);
    if (event.defaultPrevented) form.requestSubmit(submitter);
  });
  window.addEventListener("pageshow", () => { leaving = false; });
})();
