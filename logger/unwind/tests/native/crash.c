/* A function that calls no other, and has its return address in a register where
 * there is one for that, reads what cannot be read. */

__attribute__((noinline)) int leaf(const int *at) { return *at + 1; }

__attribute__((noinline)) int mid(const int *at)
{
    volatile int room[20];
    room[3] = leaf(at);
    return room[3] + 1;
}

__attribute__((noinline)) int outer(const int *at)
{
    volatile int more = mid(at);
    return more + 1;
}
