package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The most characters that are shown of a word that somebody else wrote, and of a line.
const (
	mostOfWord = 200
	mostOfLine = 2000
)

// message is the text on one line as a terminal may show it, by the rule of assay/input/message.h.
func message(text string) string {
	var line strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			line.WriteRune(r)
		} else {
			quoted := strconv.Quote(text[:size])
			line.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	words := strings.Split(line.String(), " ")
	for i, word := range words {
		words[i] = clipped(word, mostOfWord)
	}
	return clipped(strings.Join(words, " "), mostOfLine)
}

func clipped(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	half := (most - 3) / 2
	return string(runes[:half]) + "..." + string(runes[len(runes)-half:])
}
