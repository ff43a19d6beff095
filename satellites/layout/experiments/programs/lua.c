// The Lua interpreter: closures, tables, strings, sorting.
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdio.h>

static const char program[] =
    "local words, total = {}, 0\n"
    "for i = 1, 300 do words[i] = string.format('%d:%s', i * 7919 % 401, string.rep('ab', i % 5)) end\n"
    "for round = 1, 6 do\n"
    "  table.sort(words, function(a, b) return (a < b) == (round % 2 == 0) and a ~= b end)\n"
    "  local counts = setmetatable({}, { __index = function() return 0 end })\n"
    "  for _, word in ipairs(words) do\n"
    "    for digit in word:gmatch('%d') do counts[digit] = counts[digit] + 1 end\n"
    "    total = total + #word:gsub('ab', 'c'):upper()\n"
    "  end\n"
    "end\n"
    "print(total)\n";

int main(void) {
  lua_State* const state = luaL_newstate();
  luaL_openlibs(state);
  if (luaL_dostring(state, program) != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(state, -1));
    return 1;
  }
  lua_close(state);
  return 0;
}
