package main

import "fmt"

type T struct{ n int }

//go:noinline
func (t *T) Inner(n int) int { fmt.Println(n); return n + t.n }

func outer(n int) int { return (&T{n}).Inner(n + 1) }

func main() { func() { fmt.Println(outer(3)) }() }
