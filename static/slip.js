// slip.js puts the code of a scanned slip into its field. The code stands behind
// the # of the address, which no browser sends to a server or names in a Referer,
// and it leaves the address at once. Without script the code is typed.
(() => {
  "use strict";
  const field = document.querySelector("[data-slip-code]");
  const code = location.hash.slice(1);
  if (!field || !/^[0-9A-Za-z]{4}(-?[0-9A-Za-z]{4}){3}$/.test(code)) return;
  history.replaceState(null, "", location.pathname + location.search);
  field.value = code;
  document.querySelector("[name=employee]")?.focus();
})();
