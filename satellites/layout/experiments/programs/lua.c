// The Lua interpreter: closures, tables, strings, sorting. With `other`: recursion, numbers, coroutines, methods, patterns.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
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

static const char other[] =
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
    "local sum = fib(19)\n"
    "local function leaves(depth)\n"
    "  if depth == 0 then coroutine.yield(1) else leaves(depth - 1) leaves(depth - 1) end\n"
    "end\n"
    "for n in coroutine.wrap(function() leaves(10) end) do sum = sum + n end\n"
    "local Account = {}\n"
    "Account.__index = Account\n"
    "Account.__add = function(a, b) return setmetatable({ held = a.held + b.held }, Account) end\n"
    "function Account:pay(n) self.held = self.held + n // 1 | 1 return self end\n"
    "local all = setmetatable({ held = 0 }, Account)\n"
    "for i = 1, 4000 do all = all + setmetatable({ held = i }, Account):pay(i * 1.5) end\n"
    "local parts = {}\n"
    "for i = 1, 3000 do parts[#parts + 1] = tostring(i * 3.25) .. ';' .. i end\n"
    "local text = table.concat(parts, ',')\n"
    "for whole, rest in text:gmatch('(%d+)%.?%d*;([^,]+)') do sum = sum + tonumber(whole) % 7 + #rest end\n"
    "for i = 1, #text, 64 do sum = (sum * 31 + text:byte(i)) % 1000003 ~ i & 255 end\n"
    "for i = 1, 300 do local x, y = table.unpack({ math.sin(i), math.sqrt(i) }) sum = sum + math.floor(x * y) end\n"
    "print(sum, all.held, pcall(error, 'no', 0))\n";

int main(int count, char** words) {
  lua_State* const state = luaL_newstate();
  luaL_openlibs(state);
  if (luaL_dostring(state, count > 1 ? other : program) != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(state, -1));
    return 1;
  }
  lua_close(state);
  return 0;
}
