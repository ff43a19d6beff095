// The JavaScript interpreter mujs: objects, closures, strings, regular expressions.
#include <mujs.h>
#include <stdio.h>

static void print(js_State* state) {
  puts(js_tostring(state, 1));
  js_pushundefined(state);
}

static const char program[] =
    "function tree(depth) { return depth ? { left: tree(depth - 1), right: tree(depth - 1) } : null; }\n"
    "function count(t) { return t ? 1 + count(t.left) + count(t.right) : 0; }\n"
    "var words = [], total = 0;\n"
    "for (var i = 0; i < 400; ++i) words.push('w' + (i * 7919 % 401) + (i % 3 ? 'x' : 'yy'));\n"
    "for (var round = 0; round < 4; ++round) {\n"
    "  words.sort(function(a, b) { return (a < b ? -1 : a > b ? 1 : 0) * (round % 2 ? 1 : -1); });\n"
    "  words.forEach(function(w) { total += w.replace(/y+/, 'z').toUpperCase().length; });\n"
    "  total += count(tree(9));\n"
    "}\n"
    "print(total);\n";

int main(void) {
  js_State* const state = js_newstate(NULL, NULL, JS_STRICT);
  js_newcfunction(state, print, "print", 1);
  js_setglobal(state, "print");
  return js_dostring(state, program);
}
