package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A line as the recorder writes it: operations are "thread kind key value-or-last call return answer", with the
// answer "-" if they have not returned.
func line(start string, operations []string, end string) string {
	var written []string
	for _, text := range operations {
		var thread, key, extra, call, ret int
		var kind, answer string
		if _, err := fmt.Sscan(text, &thread, &kind, &key, &extra, &call, &ret, &answer); err != nil {
			panic(err)
		}
		returned := fmt.Sprintf(`,"return":%d,"answer":%s`, ret, answer)
		if answer == "-" {
			returned = ""
		}
		written = append(written, fmt.Sprintf(`{"thread":%d,"op":%q,"key":%d,"value":%d,"last":%d,"call":%d%s}`,
			thread, kind, key, extra, extra, call, returned))
	}
	if end != "" {
		end = `,"end":` + end
	}
	return fmt.Sprintf(`{"map":"tried","seed":7,"number":3,"start":%s,"operations":[%s]%s}`+"\n",
		start, strings.Join(written, ","), end)
}

func judged(t *testing.T, input string) *verdict {
	t.Helper()
	found := judge(strings.NewReader(input), 0, false)
	if found.incomplete != nil {
		t.Fatal(found.incomplete)
	}
	return found
}

func printed(t *testing.T, input string) string {
	t.Helper()
	var out strings.Builder
	judged(t, input).print(&out)
	return out.String()
}

func TestHistoriesThatAreLinearizable(t *testing.T) {
	for name, input := range map[string]string{
		"one after the other": line("[]", []string{
			"0 insert 1 101 0 1 true", "1 find 1 0 2 3 101", "0 erase 1 0 4 5 true", "1 find 1 0 6 7 null"}, "[]"),
		"a search while the key is inserted may find it": line("[]", []string{
			"0 insert 1 101 0 9 true", "1 find 1 0 2 3 101"}, "[[1,101]]"),
		"or not": line("[]", []string{
			"0 insert 1 101 0 9 true", "1 find 1 0 2 3 null"}, "[[1,101]]"),
		"intervals that touch overlap": line("[]", []string{
			"0 insert 1 101 0 5 true", "1 find 1 0 5 6 null"}, "[[1,101]]"),
		"one of two inserts succeeds": line("[]", []string{
			"0 insert 1 101 0 5 true", "1 insert 1 102 1 6 false"}, "[[1,101]]"),
		"a range sees one of two inserts": line("[]", []string{
			"0 insert 1 101 0 9 true", "1 insert 2 102 0 9 true", "2 range 1 2 3 4 [[2,102]]"}, "[[1,101],[2,102]]"),
		"a size between two inserts": line("[]", []string{
			"0 insert 1 101 0 9 true", "1 insert 2 102 0 9 true", "2 size 0 0 3 4 1"}, "[[2,102],[1,101]]"),
		"empty before an insert and after an erase": line("[]", []string{
			"0 insert 1 101 0 5 true", "1 empty 0 0 1 2 true", "1 empty 0 0 3 4 false",
			"0 erase 1 0 6 9 true", "1 empty 0 0 7 8 true"}, "[]"),
		"a snapshot in no order": line("[[1,1],[2,2]]", []string{
			"0 snapshot 0 0 0 9 [[2,2],[1,1]]"}, "[[1,1],[2,2]]"),
		"an assignment adds or replaces": line("[]", []string{
			"0 insert_or_assign 1 101 0 1 true", "1 insert_or_assign 1 102 2 3 false", "0 find 1 0 4 5 102"}, "[[1,102]]"),
		"an update replaces what it tells": line("[[1,9]]", []string{
			"0 update 1 101 0 9 102", "1 update 1 102 0 9 9", "2 update 2 103 0 9 null"}, "[[1,101]]"),
		"an extract tells what it removes": line("[[1,9]]", []string{
			"0 extract 1 0 0 9 102", "1 update 1 102 0 9 9", "2 extract 2 0 0 9 null"}, "[]"),
		"an extract of two finds nothing": line("[[1,9]]", []string{
			"0 extract 1 0 0 5 9", "1 extract 1 0 1 6 null"}, "[]"),
		"a range of keys is erased one by one": line("[[1,1],[2,2],[3,3]]", []string{
			"0 erase_range 1 2 0 9 2", "1 range 1 3 1 2 [[2,2],[3,3]]", "1 find 2 0 3 4 null"}, "[[3,3]]"),
		"what was added meanwhile may be erased": line("[[1,1]]", []string{
			"0 erase_range 1 2 0 9 3", "1 insert 1 101 1 2 true", "1 insert 2 102 3 4 true"}, "[]"),
		"or may stay": line("[[1,1]]", []string{
			"0 erase_range 1 2 0 9 1", "1 insert 1 101 1 2 true", "1 insert 2 102 3 4 true"}, "[[1,101],[2,102]]"),
		"two erase what there is": line("[[1,1],[2,2]]", []string{
			"0 erase_range 1 2 0 9 1", "1 erase_range 0 9 0 9 1"}, "[]"),
		"a range of no keys": line("[[1,1]]", []string{"0 erase_range 2 1 0 9 0", "0 erase_range 5 9 10 11 0"}, "[[1,1]]"),
	} {
		if n := len(judged(t, input).failures); n != 0 {
			t.Errorf("%s: taken for wrong:\n%s", name, printed(t, input))
		}
	}
}

func TestHistoriesThatAreNotLinearizable(t *testing.T) {
	for name, try := range map[string]struct{ input, blamed string }{
		"a search misses what was inserted": {line("[]", []string{
			"0 insert 1 101 0 1 true", "1 find 1 0 2 3 null"}, "[[1,101]]"), "find(1): nothing"},
		"a search finds what was erased": {line("[[1,9]]", []string{
			"0 erase 1 0 0 1 true", "1 find 1 0 2 3 9"}, "[]"), "find(1): 9"},
		"two inserts of one key succeed": {line("[]", []string{
			"0 insert 1 101 0 5 true", "1 insert 1 102 1 6 true"}, "[[1,101]]"), "insert(1, 102): true"},
		"two searches see two inserts in two orders": {line("[]", []string{
			"0 insert 1 101 0 9 true", "1 insert 2 102 0 9 true",
			"2 range 1 2 1 2 [[1,101]]", "3 range 1 2 3 4 [[2,102]]"}, "[[1,101],[2,102]]"), "range(1, 2): nothing"},
		"a size that never was": {line("[]", []string{
			"0 insert 1 101 0 9 true", "1 size 0 0 1 2 2"}, "[[1,101]]"), "size(): 2"},
		"empty while another key is there": {line("[[1,1],[2,2]]", []string{
			"0 erase 1 0 0 9 true", "1 empty 0 0 1 2 true"}, "[[2,2]]"), "empty(): true"},
		"not empty after the last erase": {line("[[1,1]]", []string{
			"0 erase 1 0 0 1 true", "1 empty 0 0 2 3 false"}, "[]"), "empty(): false"},
		"a range out of order": {line("[[1,1],[2,2]]", []string{
			"0 range 1 2 0 9 [[2,2],[1,1]]"}, "[[1,1],[2,2]]"), "range(1, 2): {2 -> 2, 1 -> 1}"},
		"a walk that meets a key twice": {line("[]", []string{
			"0 insert 1 101 0 1 true"}, "[[1,101],[1,101]]"), "walk at rest: {1 -> 101, 1 -> 101}"},
		"a walk in circles": {line("[]", []string{
			"0 insert 1 101 0 1 true"}, "["+strings.Repeat("[1,101],", 30)+"[1,101]]"), "walk at rest"},
		"a walk that misses a key": {line("[]", []string{
			"0 insert 1 101 0 1 true"}, "[]"), "walk at rest: nothing"},
		"an assignment adds what is there": {line("[[1,9]]", []string{
			"0 insert_or_assign 1 101 0 1 true"}, "[[1,101]]"), "insert_or_assign(1, 101): true"},
		"an assignment replaces what is not there": {line("[]", []string{
			"0 insert_or_assign 1 101 0 1 false"}, "[[1,101]]"), "insert_or_assign(1, 101): false"},
		"an assignment is lost": {line("[[1,9]]", []string{
			"0 insert_or_assign 1 101 0 1 false", "1 find 1 0 2 3 9"}, "[[1,9]]"), "find(1): 9"},
		"two updates replace the same": {line("[[1,9]]", []string{
			"0 update 1 101 0 5 9", "1 update 1 102 1 6 9"}, "[[1,102]]"), "update(1, 102): 9"},
		"an update misses what is there": {line("[[1,9]]", []string{
			"0 update 1 101 0 5 null"}, "[[1,9]]"), "update(1, 101): nothing"},
		"two extracts remove the same": {line("[[1,9]]", []string{
			"0 extract 1 0 0 5 9", "1 extract 1 0 1 6 9"}, "[]"), "extract(1): 9"},
		"an extract tells a value that was replaced before": {line("[[1,9]]", []string{
			"0 update 1 101 0 1 9", "1 find 1 0 2 9 101", "1 extract 1 0 10 11 9"}, "[]"), "extract(1): 9"},
		"an extract removes nothing": {line("[[1,9]]", []string{
			"0 extract 1 0 0 1 9", "1 find 1 0 2 3 9"}, "[[1,9]]"), "find(1): 9"},
		"an erased range leaves a key": {line("[[1,1],[2,2]]", []string{
			"0 erase_range 1 2 0 1 1", "1 find 2 0 2 3 2"}, "[[2,2]]"), "find(2): 2"},
		"an erased range goes beyond": {line("[[1,1],[2,2]]", []string{
			"0 erase_range 1 1 0 1 1"}, "[]"), "walk at rest: nothing"},
		"an erased range counts too few": {line("[[1,1],[2,2]]", []string{
			"0 erase_range 1 2 0 1 1"}, "[]"), "erase_range(1, 2): 1"},
		"an erased range counts too many": {line("[[1,1],[2,2]]", []string{
			"0 erase_range 1 2 0 9 2", "1 erase 2 0 1 2 true"}, "[]"), "erase_range(1, 2): 2"},
		"an erased range without any key": {line("[]", []string{
			"0 erase_range 1 2 0 9 1"}, "[]"), "erase_range(1, 2): 1"},
		"more was erased than was added": {line("[[1,1]]", []string{
			"0 erase_range 1 1 0 9 3", "1 insert 1 101 1 2 true"}, "[]"), "erase_range(1, 1): 3"},
	} {
		if out := printed(t, try.input); !strings.Contains(out, "the answer of "+try.blamed+".") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

func TestTheSmallestIsDrawnAsOneColumnForEachThread(t *testing.T) {
	busy := line("[]", []string{
		"0 insert 2 101 0 10 true", "0 insert 1 102 20 30 true", "1 find 1 0 22 60 null", "2 find 2 0 5 70 101",
		"0 find 1 0 40 50 102", "1 erase 1 0 80 100 true", "2 insert 1 103 90 120 false", "0 find 1 0 130 140 102",
		"1 find 2 0 150 160 101"}, "[[2,101]]")
	expected := `tried is not linearizable: 1 of 1 histories are not. The smallest, of history 3 of seed 7:

  at first the map holds {1 -> 102}

   ns   thread 0    thread 1
   80               ┌ erase(1)
  100               └ true
  130   ┌ find(1)
  140   └ 102

  No order of these operations explains the answer of find(1): 102.

What else happened in that history:

  at first the map holds nothing

   ns   thread 0           thread 1     thread 2           afterwards
    0   ┌ insert(2, 101)
    5   │                               ┌ find(2)
   10   └ true                          │
   20   ┌ insert(1, 102)                │
   22   │                  ┌ find(1)    │
   30   └ true             │            │
   40   ┌ find(1)          │            │
   50   └ 102              │            │
   60                      └ nothing    │
   70                                   └ 101
   80                      ┌ erase(1)
   90                      │            ┌ insert(1, 103)
  100                      └ true       │
  120                                   └ false
  130   ┌ find(1)
  140   └ 102
  150                      ┌ find(2)
  160                      └ 101
  161                                                      ┌ walk at rest
  162                                                      └ {2 -> 101}
`
	if out := printed(t, busy); out != expected {
		t.Errorf("got\n%s", out)
	}
}

func TestAHistoryThatIsSmallAlreadyIsDrawnOnce(t *testing.T) {
	if out := printed(t, line("[]", []string{"0 find 1 0 0 1 9"}, "[]")); strings.Contains(out, "What else") {
		t.Errorf("got\n%s", out)
	}
}

// The walk alone would be smaller and say nothing. The erase of the neighbour lost the insert.
func TestAHistoryInWhichChangesMeetIsPreferred(t *testing.T) {
	alone := line("[[4,1]]", []string{"0 find 4 0 0 1 1"}, "[]")
	met := line("[[2,1]]", []string{"0 erase 2 0 0 50 true", "1 insert 3 101 10 60 true", "0 insert 1 5 70 80 true"}, "[[1,5]]")
	out := printed(t, alone+met+alone)
	for _, part := range []string{"3 of 3 histories", "│                ┌ insert(3, 101)", "└ true           │"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
}

func TestAHistoryThatShowsSeveralThreadsIsPreferred(t *testing.T) {
	one := line("[]", []string{"0 find 1 0 0 1 9"}, "[]")
	two := line("[]", []string{"0 insert 1 101 0 1 true", "1 find 1 0 2 3 null", "0 find 1 0 4 5 101"}, "[[1,101]]")
	if out := printed(t, one+two); !strings.Contains(out, "the answer of find(1): nothing.") {
		t.Errorf("got\n%s", out)
	}
}

func TestAHistoryThatDidNotEndIsDrawn(t *testing.T) {
	whole := line("[]", []string{"0 find 1 0 0 1 null"}, "[]")
	unended := line("[]", []string{"0 insert 1 101 5 8 true", "0 erase 1 0 9 0 -", "1 find 1 0 6 10 101"}, "")
	found := judged(t, whole+unended)
	var out strings.Builder
	found.print(&out)
	expected := `only 2 histories of 4 operations can be judged, and those are linearizable

history 3 of seed 7 of tried did not end:

  at first the map holds nothing

  ns   thread 0           thread 1
   0   ┌ insert(1, 101)
   1   │                  ┌ find(1)
   3   └ true             │
   4   ┌ erase(1)         │
   5   │                  └ 101
  erase(1) had not returned, and may have taken effect or not
`
	if out.String() != expected || found.status() != 1 {
		t.Errorf("got %d and\n%s", found.status(), out.String())
	}
}

func TestWhatIsWrongBeforeTheInputEndsIsTold(t *testing.T) {
	wrong := line("[]", []string{"0 find 1 0 0 1 9"}, "[]")
	right := line("[]", []string{"0 find 1 0 0 1 null"}, "[]")
	for _, try := range []struct {
		input    string
		expected int
		untilEnd bool
		status   int
		told     string
		reason   string
	}{
		{wrong + right[:40], 0, false, 1, "find(1): 9", "line 2 is cut short"},
		{right + right[:40], 0, false, 2, "only 1 histories", "line 2 is cut short"},
		{right + "{}\n", 0, false, 2, "only 1 histories", "line 2 is not a history"},
		{right + right, 3, false, 2, "only 2 histories", "the recorder ended after 2 of 3 histories"},
		{wrong, 3, false, 1, "find(1): 9", "the recorder ended after 1 of 3 histories"},
		{right + right, 2, false, 0, "2 histories of 2 operations: all linearizable", ""},
		{right + "end\n", 0, true, 0, "1 histories of 1 operations: all linearizable", ""},
		{right, 0, true, 2, "only 1 histories", "the recorder ended early, after 1 histories"},
	} {
		found := judge(strings.NewReader(try.input), try.expected, try.untilEnd)
		var out strings.Builder
		found.print(&out)
		if found.status() != try.status || !strings.Contains(out.String(), try.told) ||
			(found.incomplete == nil) != (try.reason == "") ||
			(found.incomplete != nil && !strings.Contains(found.incomplete.Error(), try.reason)) {
			t.Errorf("%q: got %d, %v and\n%s", try.input, found.status(), found.incomplete, out.String())
		}
	}
}

func TestWhatIsGoingOnAtTheEndStaysWhereItMayHaveHadAnEffect(t *testing.T) {
	out := printed(t, line("[]", []string{
		"0 insert 1 101 0 90 true", "1 find 1 0 10 20 101", "1 find 1 0 30 40 null"}, "[[1,101]]"))
	for _, part := range []string{"┌ insert(1, 101)", "└ 101", "└ nothing", "insert(1, 101) had not returned"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
}

func TestTheShortestOfSeveralIsPrinted(t *testing.T) {
	long := line("[]", []string{"0 insert 1 101 0 5 true", "0 insert 1 102 10 50 true", "0 erase 1 0 60 70 true"}, "[]")
	short := line("[]", []string{"0 find 1 0 0 1 9"}, "[]")
	out := printed(t, long+short+long)
	if !strings.Contains(out, "3 of 3 histories") || !strings.Contains(out, "find(1): 9") {
		t.Errorf("got\n%s", out)
	}
}

func TestInputThatCannotBeReadIsRefused(t *testing.T) {
	whole := line("[]", []string{"0 find 1 0 0 1 null"}, "[]")
	around := func(operation string) string {
		return `{"map":"m","seed":1,"number":1,"start":[],"operations":[` + operation + `],"end":[]}` + "\n"
	}
	for input, message := range map[string]string{
		"":                              "there are no histories to read",
		"insert 1 2\n":                  "line 1 is not a history: invalid character",
		whole + whole[:40]:              "line 2 is cut short",
		`{"map":"a","colour":1}` + "\n": `unknown field "colour"`,
		`{"map":"a"}` + "\n":            "it needs map, seed, number, start and operations",
		strings.Replace(whole, `"start":[],`, "", 1):                                   "it needs map, seed, number, start and operations",
		line("[]", []string{}, "[]"):                                                   "there are no operations",
		line("[]", []string{"0 find 1 0 0 1 null"}, ""):                                "it needs an end exactly if all operations have returned",
		line("[]", []string{"0 find 1 0 0 1 -"}, "[]"):                                 "it needs an end exactly if all operations have returned",
		line("[[1,2],[1,3]]", []string{"0 find 1 0 0 1 2"}, "[]"):                      "a map cannot hold a key twice",
		line("[[1]]", []string{"0 find 1 0 0 1 null"}, "[]"):                           "[1] is not an element",
		line("[]", []string{"0 find 1 0 0 1 null"}, "[[1,0,99]]"):                      "[1,0,99] is not an element",
		line("[]", []string{"0 find 1 0 0 1 null"}, "[[1,null]]"):                      "[1,null] is not an element",
		strings.TrimSpace(whole) + whole:                                               "something follows the object",
		line("[]", []string{"0 find 1 0 5 4 null"}, "[]"):                              "operation 0: it returned before it was called",
		line("[]", []string{"0 jump 1 0 0 1 null"}, "[]"):                              `operation 0: there is no operation "jump"`,
		line("[]", []string{"-2 find 1 0 0 1 null"}, "[]"):                             "there is no thread -2",
		line("[]", []string{"0 insert 1 0 0 1 77"}, "[]"):                              "insert cannot answer",
		line("[]", []string{"0 insert 1 0 0 1 null"}, "[]"):                            "only a find, an update or an extract finds nothing",
		line("[]", []string{"0 range 1 2 0 1 null"}, "[]"):                             "only a find, an update or an extract finds nothing",
		line("[]", []string{"0 snapshot 1 0 0 1 5"}, "[]"):                             "snapshot cannot answer",
		line("[]", []string{"0 find 1 0 0 9223372036854775807 null"}, "[]"):            "further than 2^62 ns",
		around(`{"thread":0,"op":"find","key":1,"return":1,"answer":null}`):            "it needs thread, op and call",
		around(`{"thread":0,"op":"find","call":0,"return":1,"answer":null}`):           "find needs a key",
		around(`{"thread":0,"op":"insert","key":1,"call":0,"return":1,"answer":true}`): "insert needs a value",
		around(`{"thread":0,"op":"range","key":1,"call":0,"return":1,"answer":[]}`):    "range needs a last",
		around(`{"thread":0,"op":"find","key":1,"call":0,"return":1}`):                 "an answer is missing",
		around(`{"thread":0,"op":"find","key":1,"call":0,"answer":null}`):              "it answered without returning",
	} {
		found := judge(strings.NewReader(input), 0, false)
		if found.incomplete == nil || !strings.Contains(found.incomplete.Error(), message) {
			t.Errorf("%q: expected %q, got %v", input, message, found.incomplete)
		}
	}
}

// The guide shows what was printed of 1,000 histories, of which this is the one that was drawn.
func TestTheGuideShowsWhatIsPrinted(t *testing.T) {
	recorded, err := os.ReadFile("testdata/lost_update.json")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../../docs/rig.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.Replace(printed(t, string(recorded)), "1 of 1 histories", "7 of 1000 histories", 1)
	indented := strings.ReplaceAll(strings.ReplaceAll("\n"+shown, "\n", "\n    "), "\n    \n", "\n\n")
	if !strings.Contains(string(guide), strings.TrimRight(indented, " ")) {
		t.Errorf("satellites/rig/docs/rig.md does not show\n%s", indented)
	}
}

func TestHostileWordsAreShownPrintableAndShort(t *testing.T) {
	hostile := "a\x1b[31m\u202e\u0085\xff" + strings.Repeat("x", 100000)
	for name, input := range map[string]string{
		"a map":           strings.Replace(line("[]", []string{"0 find 1 0 0 1 5"}, "[]"), "tried", hostile, 1),
		"a key":           fmt.Sprintf("{%q:1}\n", hostile),
		"an operation":    strings.Replace(line("[]", []string{"0 find 1 0 0 1 5"}, "[]"), "find", hostile, 1),
		"not JSON at all": hostile + "\n",
	} {
		var out strings.Builder
		found := judge(strings.NewReader(input), 0, false)
		found.print(&out)
		said := out.String()
		if found.incomplete != nil {
			said += message(found.incomplete.Error())
		}
		if strings.ContainsAny(said, "\x1b\u202e\u0085\xff") || len(said) > 1500 || found.status() == 0 {
			t.Errorf("%s: %d bytes: %.300q", name, len(said), said)
		}
	}
}
