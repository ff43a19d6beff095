// The database SQLite, in memory: inserts, an index, joins, aggregates, updates.
#include <sqlite3.h>
#include <stdio.h>

static const char program[] =
    "create table items (id integer primary key, name text, price real);"
    "create table sales (item integer, amount integer);"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)"
    "  insert into items select i, 'item ' || (i * 7919 % 2003), i % 97 * 1.5 from n;"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 6000)"
    "  insert into sales select i * 31 % 2000 + 1, i % 7 from n;"
    "create index by_name on items (name);"
    "update items set price = price * 1.1 where name like 'item 1%';"
    "delete from sales where amount = 0;";
static const char question[] =
    "select substr(name, 1, 6) as kind, count(*), sum(amount * price) from items join sales on item = id group by kind order by 3 desc";

int main(void) {
  sqlite3* database = NULL;
  sqlite3_stmt* asked = NULL;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK || sqlite3_exec(database, program, NULL, NULL, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(database, question, -1, &asked, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s\n", sqlite3_errmsg(database));
    return 1;
  }
  int rows = 0;
  while (sqlite3_step(asked) == SQLITE_ROW) ++rows;
  printf("%d\n", rows);
  sqlite3_finalize(asked);
  sqlite3_close(database);
  return 0;
}
