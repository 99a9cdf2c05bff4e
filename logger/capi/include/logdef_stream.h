/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Types that have an operator<< as arguments of log calls, for C++20 and later.
 *
 *     #include <logdef_stream.h>
 *
 *     LOGDEF_F(INFO, "moved to {}", point);
 *     LOGDEF(INFO, "moved to %s", logdef::streamed(point));
 *
 * The operator runs in the program, into 256 bytes of the stack, and only if the record is written;
 * longer text ends in "...". A specialization of logdef::argument for the type comes first.
 */
#ifndef LOGDEF_STREAM_H
#define LOGDEF_STREAM_H

#include <logdef_format.h>

extern "C++" {
#include <ostream>
#include <streambuf>
}

namespace logdef {

/* Lets a stream write into a text. */
template <std::size_t Room>
class text_stream_buffer : public std::streambuf {
public:
    explicit text_stream_buffer(text<Room> &to) : to_(to) {}

protected:
    int_type overflow(int_type c) override
    {
        if (!traits_type::eq_int_type(c, traits_type::eof()))
            to_.push_back(traits_type::to_char_type(c));
        return traits_type::not_eof(c);
    }

    std::streamsize xsputn(const char *from, std::streamsize length) override
    {
        to_.append(from, static_cast<std::size_t>(length));
        return length;
    }

private:
    text<Room> &to_;
};

/* What operator<< writes. */
template <std::size_t Room = 256, class T>
text<Room> streamed(const T &value)
{
    text<Room> written;
    text_stream_buffer<Room> buffer(written);
    std::ostream stream(&buffer);
    stream << value;
    return written;
}

/* Whether a class is written by operator<<, and is no text. */
template <class T>
concept streamable = std::is_class_v<T> && !::logdef_cpp::is_text<T>::value &&
                     !std::is_same_v<T, logdef_bytes> &&
                     requires(std::ostream &stream, const T &value) { stream << value; };

template <streamable T>
struct argument<T> {
    static text<256> of(const T &value) { return streamed(value); }
};

} /* namespace logdef */

#endif /* LOGDEF_STREAM_H */
