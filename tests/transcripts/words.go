package main

import (
	"fmt"
	"sort"
	"strings"
)

func main() {
	words := map[string][]int{}
	x := uint64(88172645463325252)
	for i := 0; i < 20000; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		k := strings.Repeat("w", int(x%5)) + fmt.Sprint(x%100)
		words[k] = append(words[k], i)
	}
	keys := []string{}
	for k := range words {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	fmt.Println(len(keys), keys[0])
}
