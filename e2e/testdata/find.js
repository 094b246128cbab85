// What a person can see and hit, by the words on it. Evaluated by tab_test.go.
var said = (el) => (el.innerText || el.getAttribute("aria-label") || el.value || "").replace(/\s+/g, " ").trim();
var shown = (el) => el.checkVisibility({ visibilityProperty: true }) && el.getClientRects().length > 0;
var front = () => [...document.querySelectorAll("dialog[open]")].pop() || document;
var clickable = (text) => {
  const all = [...front().querySelectorAll("a[href], button, summary, label, [role=tab], [role=button]")].filter(shown);
  const exact = all.filter((el) => said(el) === text || el.getAttribute("aria-label") === text);
  // what belongs to the page comes before what is on every page
  const inPage = exact.filter((el) => el.closest("main, dialog"));
  return inPage[0] || exact[0] || all.find((el) => el.closest("main, dialog") && said(el).startsWith(text));
};
var place = (el) => {
  if (!el) return { why: "it is not there" };
  if (el.disabled) return { why: "it is disabled" };
  el.scrollIntoView({ block: "center", behavior: "instant" });
  const r = el.getClientRects()[0];
  if (!r) return { why: "it is not shown" };
  const x = r.left + r.width / 2, y = r.top + r.height / 2;
  const hit = document.elementFromPoint(x, y);
  if (hit && (el === hit || el.contains(hit) || hit.closest("label")?.control === el)) return { x, y, why: "" };
  return { why: "something lies over it: " + (hit ? hit.outerHTML.slice(0, 120) : "nothing") };
};
var field = (label) => {
  for (const l of front().querySelectorAll("label")) {
    const words = said(l).replace(/ \((opcional|optional)\)$/, "");
    if (words === label && l.control && shown(l.control)) return l.control;
  }
  return [...front().querySelectorAll("input, select, textarea")].find((el) => shown(el) && el.getAttribute("aria-label") === label);
};
// fill answers true when the value is in; false asks for it to be typed.
var fill = (el, value) => {
  el.scrollIntoView({ block: "center", behavior: "instant" });
  el.focus();
  if (el.matches("select, input[type=date], input[type=time], input[type=datetime-local]")) {
    if (el.matches("select")) {
      const o = [...el.options].find((o) => o.value === value || o.text.trim() === value);
      if (!o) throw new Error("no option " + value + " among " + [...el.options].map((o) => o.text.trim()).join(" | "));
      el.value = o.value;
    } else {
      el.value = value;
    }
    el.dispatchEvent(new Event("input", { bubbles: true }));
    el.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }
  el.select();
  return false;
};
