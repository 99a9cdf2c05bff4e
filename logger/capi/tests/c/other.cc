// Another unit with the inline functions and templates of calls.cc.
#include "calls.h"

int cpp_other_unit(int i)
{
    LOGDEF(INFO, "other unit %d", in_inline(i));
    return in_template(i) + static_cast<int>(in_template(2.0)) + in_template(3U) > 0;
}
