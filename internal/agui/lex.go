package agui

// MaxDepth is how deep an event may be nested, its own object included. Real
// events stay below 20. The limit is what lets every reader downstream parse
// what we let in: Python's json gives up near 1,000 levels, and a frame adds
// two of its own. At one bit a level the stack is one cache line.
const MaxDepth = 512

// space returns where the white space at b[i] ends.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// name reads an object's key at b[i], the colon after it and the white space
// around that. b[i+1:end] is the key as written; next is where its value begins.
func name(b []byte, i int, want string) (end, next int, escaped bool, err *SyntaxError) {
	if i >= len(b) || b[i] != '"' {
		return 0, 0, false, unexpected(b, i, want)
	}
	end, escaped, err = text(b, i+1)
	if err != nil {
		return 0, 0, false, err
	}
	next = space(b, end+1)
	if next >= len(b) || b[next] != ':' {
		return 0, 0, false, unexpected(b, next, "a colon after a key")
	}
	return end, space(b, next+1), escaped, nil
}

// value reads the value of a top-level member at b[i], whatever it is, and
// returns where it ends.
func value(b []byte, i int) (int, *SyntaxError) {
	if i < len(b) && (b[i] == '{' || b[i] == '[') {
		return nested(b, i)
	}
	return scalar(b, i)
}

// scalar reads a string, number or literal.
func scalar(b []byte, i int) (int, *SyntaxError) {
	if i >= len(b) {
		return i, unexpected(b, i, "a value")
	}
	switch c := b[i]; {
	case c == '"':
		end, _, err := text(b, i+1)
		return end + 1, err
	case c == '-' || c-'0' <= 9:
		return number(b, i)
	case c == 't':
		return literal(b, i, "true")
	case c == 'f':
		return literal(b, i, "false")
	case c == 'n':
		return literal(b, i, "null")
	}
	return i, unexpected(b, i, "a value")
}

// nested reads the object or array at b[i], which stands in the event's own
// object, without recursion: level n is a bit that says object or array.
func nested(b []byte, i int) (int, *SyntaxError) {
	var objects [MaxDepth / 64]uint64
	depth := 1
	inObject := false
	var err *SyntaxError
	for {
		// Here stands a value.
		if i < len(b) && (b[i] == '{' || b[i] == '[') {
			if depth == MaxDepth {
				return i, fail(i, ErrDepth, "nested deeper than 512 levels; allowed are 512")
			}
			inObject = b[i] == '{'
			set(&objects, depth, inObject)
			depth++
			i = space(b, i+1)
			if i >= len(b) || b[i] != closing(inObject) {
				if inObject {
					if _, i, _, err = name(b, i, "a key or '}'"); err != nil {
						return i, err
					}
				}
				continue
			}
		} else if i, err = scalar(b, i); err != nil {
			return i, err
		} else {
			i = space(b, i)
		}
		// Here ends a value: at b[i] stands a comma or the end of what holds it.
		for i >= len(b) || b[i] != ',' {
			if i >= len(b) || b[i] != closing(inObject) {
				return i, unexpected(b, i, separator(inObject))
			}
			depth--
			if depth == 1 {
				return i + 1, nil
			}
			inObject = objects[(depth-1)/64]&(1<<((depth-1)%64)) != 0
			i = space(b, i+1)
		}
		i = space(b, i+1)
		if inObject {
			if _, i, _, err = name(b, i, "a key"); err != nil {
				return i, err
			}
		}
	}
}

func set(bitmap *[MaxDepth / 64]uint64, at int, v bool) {
	if v {
		bitmap[at/64] |= 1 << (at % 64)
	} else {
		bitmap[at/64] &^= 1 << (at % 64)
	}
}

func closing(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

func separator(object bool) string {
	if object {
		return "',' or '}'"
	}
	return "',' or ']'"
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?.
func number(b []byte, i int) (int, *SyntaxError) {
	if b[i] == '-' {
		i++
	}
	start := i
	i = digits(b, i)
	if i == start {
		return i, unexpected(b, i, "a digit")
	}
	if b[start] == '0' && i > start+1 {
		return start, fail(start, ErrSyntax, "a number begins with a needless 0; allowed is 0 alone or before a point")
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digits(b, start); i == start {
			return i, unexpected(b, i, "a digit after the point")
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		start = i + 1
		if start < len(b) && (b[start] == '+' || b[start] == '-') {
			start++
		}
		if i = digits(b, start); i == start {
			return i, unexpected(b, i, "a digit in the exponent")
		}
	}
	return i, nil
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func literal(b []byte, i int, word string) (int, *SyntaxError) {
	if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
		return i + len(word), nil
	}
	return i, fail(i, ErrSyntax, "an unknown word; allowed are true, false and null")
}
