// What scrolls can be reached by the keyboard.
const reachScrollers = () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper, p:has(> img)")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
};
addEventListener("load", reachScrollers);
addEventListener("resize", reachScrollers);
