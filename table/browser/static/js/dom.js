/* Small helpers to make elements: every page is built from these, without HTML in strings. */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(4).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

/** An HTML element: `h("button", {class: "quiet", onclick: f}, "Leave")`. */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

export function byId(id) {
  return document.getElementById(id);
}

export function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}
