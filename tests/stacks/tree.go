// The same of Go.
package main

import (
	"fmt"
	"sort"
)

//go:noinline
func node_1_1_1(x int) int { return x*3 ^ x>>7 }

//go:noinline
func node_1_1(x int) int {
	var text [200]byte
	text[x&127] = byte(x)
	x = node_1_1_1(x)
	return x + int(text[x&127])
}

//go:noinline
func node_1(x int) int {
	for i := 0; i < 5; i++ {
		x += node_1_1(x + i)
	}
	return x
}

//go:noinline
func node_2_1(x int) int {
	defer func() { recover() }()
	if x%3 == 0 {
		panic("three")
	}
	return x + 1
}

//go:noinline
func node_2(x int) int {
	x += node_2_1(x)
	return x
}

//go:noinline
func node_3(x int) int {
	words := map[string]int{}
	for i := 0; i < 8; i++ {
		words[fmt.Sprint(x*i)] = i
	}
	return len(words)
}

//go:noinline
func less(a, b int) bool { return a < b }

//go:noinline
func node_4(x int) int {
	numbers := make([]int, 24)
	for i := range numbers {
		x = (x*1103515245 + 12345) & 0x7fffffff
		numbers[i] = x >> 8
	}
	sort.Slice(numbers, func(i, j int) bool { return less(numbers[i], numbers[j]) })
	return numbers[3]
}

//go:noinline
func routine_1(x int) int { return x*7 + 3 }

//go:noinline
func routine(done chan int) {
	x := 1
	for i := 0; i < 400; i++ {
		x = routine_1(x)
	}
	done <- x
}

func main() {
	done := make(chan int)
	x := 1
	for i := 0; i < 300; i++ {
		x += node_1(i)
		x += node_2(i)
		x += node_3(i)
		x += node_4(i)
		if i%50 == 0 {
			go routine(done)
			x += <-done
		}
	}
	fmt.Println(x == 0)
}
