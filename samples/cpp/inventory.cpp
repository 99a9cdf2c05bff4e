// A warehouse in C++: templates, inline functions, std::string and an exception
// on the way, and each of them may log.
//
//     inventory LOG
#include <logdef.h>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

template <typename Count>
class Shelf {
public:
    explicit Shelf(std::string name) : name_(std::move(name)) {}

    void put(const std::string &item, Count count)
    {
        items_[item] += count;
        LOGDEF(INFO, "%s: %s is now %.1f", name_.c_str(), item.c_str(), static_cast<double>(items_[item]));
    }

    Count take(const std::string &item, Count count)
    {
        Count &there = items_.at(item);
        if (there < count) {
            LOGDEF(ERROR, "%s: %.1f of %s wanted, %.1f there", name_.c_str(), static_cast<double>(count),
                   item.c_str(), static_cast<double>(there));
            throw std::out_of_range(item);
        }
        there -= count;
        return there;
    }

private:
    std::string name_;
    std::map<std::string, Count> items_;
};

static void night_shift()
{
    Shelf<float> shelf("liquids");
    shelf.put("oil", 2.5f);
    LOGDEF(DEBUG, "%5.1f%% of a shift done, flag %d, at %p", 100.0, true, static_cast<const void *>(&shelf));
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: inventory LOG\n");
        return 2;
    }
    if (logdef_open(argv[1]) != 0) {
        std::perror(argv[1]);
        return 1;
    }
    logdef_set_level(LOGDEF_DEBUG);

    Shelf<int> shelf("bolts");
    shelf.put("M8", 40);
    shelf.put("M8", 2);
    std::thread(night_shift).join();
    try {
        shelf.take("M8", 100);
    } catch (const std::exception &error) {
        LOGDEF(WARN, "order refused: %s (%s)", error.what(), "out of range");
    }
    logdef_close();
    return 0;
}
