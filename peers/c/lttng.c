/* LTTng-UST; the script that runs this makes the session. */
#include "peer.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"

void peer_open(const char *directory)
{
    (void)directory;
}

void peer_flush(void) {}

WORKLOADS(lttng_ust_tracepoint(peer, doubles, a, b, c), lttng_ust_tracepoint(peer, strings, a, b, c))
