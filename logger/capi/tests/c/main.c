/* A program that logs nothing itself and uses a library that does. */
int run_image(void);

int main(void)
{
    return run_image();
}
