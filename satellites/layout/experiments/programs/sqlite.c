// The database SQLite, in memory: inserts, an index, joins, aggregates, updates. With `other`: a trigger, windows, texts, dates, JSON, undoing.
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

static const char other[] =
    "create table people (name text primary key, born text, boss text, data text) without rowid;"
    "create table log (what text check (length(what) > 2), at integer);"
    "create trigger seen after update on people begin insert into log values (old.name || '>' || new.boss, length(new.data)); end;"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)"
    "  insert into people select printf('p%05d', i * 377 % 907), date('1950-01-01', '+' || i * 17 || ' days'), printf('p%05d', i / 3),"
    "    json_object('id', i, 'tags', json_array(i % 3, 'x' || i % 5)) from n;"
    "begin; delete from people where name glob 'p000[1-5]*'; savepoint half; update people set boss = 'p00001' where born > '1970';"
    "rollback to half; update people set boss = 'p00002' where json_extract(data, '$.tags[0]') = 1; commit;"
    "create view elders as select name, upper(replace(name, '0', 'o')) as shown, born from people where born < '1965' union"
    "  select boss, hex(boss), '' from people except select name, name, born from people where name like '%7';";
static const char other_question[] =
    "with recursive above(name, height) as (select 'p00001', 0 union"
    "   select people.name, height + 1 from people, above where boss = above.name and height < 4)"
    " select people.name, rank() over (partition by substr(people.born, 1, 3) order by julianday(people.born) desc) as place,"
    "   sum(length(data)) over (order by people.name rows 5 preceding), group_concat(shown, '-') over (order by people.born rows 2 preceding),"
    "   (select max(at) from log where what > people.name) from people left join elders using (name) left join above using (name)"
    " where people.name not in (select boss from people where born like '195%') order by place, 3, 1 limit 200";

int main(int count, char** words) {
  sqlite3* database = NULL;
  sqlite3_stmt* asked = NULL;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
      sqlite3_exec(database, count > 1 ? other : program, NULL, NULL, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(database, count > 1 ? other_question : question, -1, &asked, NULL) != SQLITE_OK) {
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
