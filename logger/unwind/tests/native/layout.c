/* Built with different ROOM, the same code at the same places, with different
   stack frames. */

typedef void visit_fn(void);

long through(visit_fn *visit) {
    volatile char room[ROOM];
    room[1] = 1;
    visit();
    return room[1];
}
