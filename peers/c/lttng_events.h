/* The two tracepoints. Read several times by LTTng's own headers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined(LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(peer, doubles, LTTNG_UST_TP_ARGS(int, a, int, b, double, c),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(
                               int, b, b) lttng_ust_field_float(double, c, c)))

LTTNG_UST_TRACEPOINT_EVENT(peer, strings, LTTNG_UST_TP_ARGS(int, a, int, b, const char *, c),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(
                               int, b, b) lttng_ust_field_string(c, c)))

#endif

#include <lttng/tracepoint-event.h>
