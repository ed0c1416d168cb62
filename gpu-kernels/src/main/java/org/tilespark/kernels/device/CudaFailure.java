package org.tilespark.kernels.device;

import jcuda.driver.CUresult;

/**
 * A CUDA call failed: a defect of ours or a fault of the device, never lack of memory (that is
 * {@link DeviceOutOfMemoryException}) and never wrong input.
 */
public final class CudaFailure extends RuntimeException {
  private final String call;
  private final boolean sticky;

  private CudaFailure(String message, String call, boolean sticky) {
    super(message);
    this.call = call;
    this.sticky = sticky;
  }

  /**
   * The failure of {@code call} on {@code device}.
   *
   * @param call name of the driver's call
   * @param code result of the call
   * @param launch the kernel and its launch, for the message; empty if the call launches none
   * @param device the device, for the message
   */
  static CudaFailure of(String call, int code, String launch, String device) {
    boolean sticky = isSticky(code);
    String later =
        sticky
            ? "; the fault may be from earlier asynchronous work, and every later call in this"
                + " process will fail on this device"
            : "";
    return new CudaFailure(
        message(call, code, CUresult.stringFor(code), launch, device) + later, call, sticky);
  }

  /**
   * The failure of a library's call on a device that is sound itself.
   *
   * @param call name of the library's call
   * @param code result of the call, in the library's numbering
   * @param codeName the library's name for that result
   * @param detail details of the request, or empty
   * @param device the device, for the message
   */
  static CudaFailure ofLibrary(
      String call, int code, String codeName, String detail, String device) {
    return new CudaFailure(message(call, code, codeName, detail, device), call, false);
  }

  private static String message(
      String call, int code, String codeName, String detail, String device) {
    return "%s failed with %s (%s)%s on %s"
        .formatted(call, codeName, code, detail.isEmpty() ? "" : " for " + detail, device);
  }

  /** The call that reported the failure, such as {@code cuLaunchKernel} or {@code cublasGemmEx}. */
  public String call() {
    return call;
  }

  /**
   * True if the context is lost: later calls of this process on the device fail too, and the fault
   * may be from work that was queued before this call.
   */
  public boolean isSticky() {
    return sticky;
  }

  private static boolean isSticky(int code) {
    return switch (code) {
      case CUresult.CUDA_ERROR_DEINITIALIZED,
          CUresult.CUDA_ERROR_ECC_UNCORRECTABLE,
          CUresult.CUDA_ERROR_NVLINK_UNCORRECTABLE,
          CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,
          CUresult.CUDA_ERROR_LAUNCH_TIMEOUT,
          CUresult.CUDA_ERROR_CONTEXT_IS_DESTROYED,
          CUresult.CUDA_ERROR_ASSERT,
          CUresult.CUDA_ERROR_HARDWARE_STACK_ERROR,
          CUresult.CUDA_ERROR_ILLEGAL_INSTRUCTION,
          CUresult.CUDA_ERROR_MISALIGNED_ADDRESS,
          CUresult.CUDA_ERROR_INVALID_ADDRESS_SPACE,
          CUresult.CUDA_ERROR_INVALID_PC,
          CUresult.CUDA_ERROR_LAUNCH_FAILED,
          CUresult.CUDA_ERROR_EXTERNAL_DEVICE,
          CUresult.CUDA_ERROR_UNKNOWN ->
          true;
      default -> false;
    };
  }
}
