module work
contains
  subroutine inner(n)
    integer, intent(in) :: n
    print *, n
  end subroutine
  subroutine outer(n)
    integer, intent(in) :: n
    call inner(n + 1)
  end subroutine
end module
program main
  use work
  call outer(3)
end program
