// The search of scripts/site: no server and no network. The index is a script of its own, so that it loads from file://, too, and
// only once somebody searches.
(function () {
  "use strict";
  var MOST = 30;

  // Sections that hold each word, best first. An entry of the index is [address, page, heading, text].
  function find(index, words) {
    var wanted = words.toLowerCase().split(/\s+/).filter(function (word) { return word !== ""; });
    if (wanted.length === 0) return [];
    var found = [];
    index.forEach(function (entry, place) {
      var heading = entry[2].toLowerCase(), page = entry[1].toLowerCase(), text = entry[3].toLowerCase();
      var score = /^benchmarks\//.test(entry[0]) ? 0 : 6;  // figures stand behind what explains them
      for (var i = 0; i < wanted.length; ++i) {
        var word = wanted[i];
        var here = (heading.indexOf(word) >= 0 ? 8 : 0) + (page.indexOf(word) >= 0 ? 2 : 0);
        var times = text.split(word).length - 1;
        if (here === 0 && times === 0) return;
        score += here + Math.min(times, 4);
      }
      found.push({score: score, place: place, entry: entry});
    });
    found.sort(function (a, b) { return b.score - a.score || a.place - b.place; });
    return found.slice(0, MOST).map(function (one) { return one.entry; });
  }

  // The words around the first of them.
  function excerpt(text, words) {
    var at = text.toLowerCase().indexOf(words.toLowerCase().split(/\s+/)[0]);
    var begin = Math.max(0, at - 60);
    return (begin > 0 ? "… " : "") + text.slice(begin, begin + 160) + (begin + 160 < text.length ? " …" : "");
  }

  if (typeof document === "undefined") {
    module.exports = {find: find, excerpt: excerpt};
    return;
  }

  var root = document.currentScript.src.replace(/site_search\.js.*$/, "");
  function made(tag, parent, values) {
    var element = document.createElement(tag);
    Object.keys(values).forEach(function (key) { element[key] = values[key]; });
    parent.appendChild(element);
    return element;
  }
  document.addEventListener("DOMContentLoaded", function () {
    var bar = document.querySelector(".navbar .container");
    if (bar === null) return;
    var box = made("div", bar, {className: "site-search"});
    var input = made("input", box, {type: "search", placeholder: "Search", autocomplete: "off"});
    input.setAttribute("aria-label", "Search these pages");
    var list = made("div", box, {className: "site-search-found", hidden: true});
    function show() {
      list.textContent = "";
      list.hidden = input.value.trim() === "";
      if (list.hidden) return;
      if (!window.siteSearchIndex) {
        made("p", list, {textContent: "Loading the index …"});
        return;
      }
      var entries = find(window.siteSearchIndex, input.value);
      if (entries.length === 0) made("p", list, {textContent: "No section has all these words."});
      entries.forEach(function (entry) {
        var link = made("a", list, {href: root + entry[0]});
        made("strong", link, {textContent: entry[1] === entry[2] ? entry[1] : entry[1] + ": " + entry[2]});
        made("span", link, {textContent: excerpt(entry[3], input.value)});
      });
    }
    input.addEventListener("focus", function () {
      if (window.siteSearchIndex || document.getElementById("site-search-index")) return;
      var script = made("script", document.body, {id: "site-search-index", src: root + "site_search_index.js"});
      script.onload = show;
    });
    input.addEventListener("input", show);
    list.addEventListener("click", function () { list.hidden = true; });
    document.addEventListener("keydown", function (event) {
      if (event.key === "Escape") list.hidden = true;
      if (event.key !== "Enter" || document.activeElement !== input) return;
      event.preventDefault();
      var first = list.querySelector("a");
      if (first !== null) window.location.href = first.href;
    });
  });
})();
