package main

import (
	"fmt"
	"strings"
	"testing"
)

// A line as the recorder writes it: operations are "thread kind key value-or-last call return answer".
func line(start string, operations []string, end string) string {
	var written []string
	for _, text := range operations {
		var thread, key, extra, call, ret int
		var kind, answer string
		if _, err := fmt.Sscan(text, &thread, &kind, &key, &extra, &call, &ret, &answer); err != nil {
			panic(err)
		}
		written = append(written, fmt.Sprintf(
			`{"thread":%d,"op":%q,"key":%d,"value":%d,"last":%d,"call":%d,"return":%d,"answer":%s}`,
			thread, kind, key, extra, extra, call, ret, answer))
	}
	return fmt.Sprintf(`{"map":"tried","seed":7,"number":3,"start":%s,"operations":[%s],"end":%s}`+"\n",
		start, strings.Join(written, ","), end)
}

func judged(t *testing.T, input string) *verdict {
	t.Helper()
	found, err := judge(strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
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
		"a snapshot in no order": line("[[1,1],[2,2]]", []string{
			"0 snapshot 0 0 0 9 [[2,2],[1,1]]"}, "[[1,1],[2,2]]"),
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
		"a range out of order": {line("[[1,1],[2,2]]", []string{
			"0 range 1 2 0 9 [[2,2],[1,1]]"}, "[[1,1],[2,2]]"), "range(1, 2): {2 -> 2, 1 -> 1}"},
		"a walk that meets a key twice": {line("[]", []string{
			"0 insert 1 101 0 1 true"}, "[[1,101],[1,101]]"), "walk at rest: {1 -> 101, 1 -> 101}"},
		"a walk that misses a key": {line("[]", []string{
			"0 insert 1 101 0 1 true"}, "[]"), "walk at rest: nothing"},
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
   0               ┌ erase(1)
  20               └ true
  50   ┌ find(1)
  60   └ 102

  No order of these operations explains the answer of find(1): 102.
`
	if out := printed(t, busy); out != expected {
		t.Errorf("got\n%s", out)
	}
}

func TestWhatIsGoingOnAtTheEndStaysWhereItMayHaveHadAnEffect(t *testing.T) {
	out := printed(t, line("[]", []string{
		"0 insert 1 101 0 90 true", "1 find 1 0 10 20 101", "1 find 1 0 30 40 null"}, "[[1,101]]"))
	for _, part := range []string{"┌ insert(1, 101)", "└ 101", "└ nothing", "insert(1, 101) had not returned yet"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
}

func TestTheShortestOfSeveralIsPrinted(t *testing.T) {
	long := line("[]", []string{"0 insert 1 101 0 50 true", "1 insert 1 102 0 50 true", "2 erase 1 0 60 70 true"}, "[]")
	short := line("[]", []string{"0 find 1 0 0 1 9"}, "[]")
	out := printed(t, long+short+long)
	if !strings.Contains(out, "3 of 3 histories") || !strings.Contains(out, "find(1): 9") {
		t.Errorf("got\n%s", out)
	}
}

func TestInputThatCannotBeReadIsRefused(t *testing.T) {
	whole := line("[]", []string{"0 find 1 0 0 1 null"}, "[]")
	for input, message := range map[string]string{
		"":                              "there are no histories to read",
		"insert 1 2\n":                  "line 1 is no history: invalid character",
		whole + whole[:40]:              "line 2 is cut short",
		`{"map":"a","colour":1}` + "\n": `unknown field "colour"`,
		`{"map":"a"}` + "\n":            "there are no operations",
		line("[]", []string{"0 find 1 0 5 4 null"}, "[]"):  "operation 0: it returned before it was called",
		line("[]", []string{"0 jump 1 0 0 1 null"}, "[]"):  `operation 0: there is no operation "jump"`,
		line("[]", []string{"0 insert 1 0 0 1 77"}, "[]"):  "insert cannot answer",
		line("[]", []string{"0 snapshot 1 0 0 1 5"}, "[]"): "snapshot cannot answer",
	} {
		if _, err := judge(strings.NewReader(input)); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: expected %q, got %v", input, message, err)
		}
	}
}
