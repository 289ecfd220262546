// byId returns the element with that id, or null.
const byId = (id) => document.getElementById(id);

// element makes an element of HTML with attributes and children, which are nodes or texts.
function element(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
