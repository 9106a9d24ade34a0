/* SPDX-License-Identifier: MIT */
/*
 * The memory of the regions is BAR 2 of an ivshmem-plain device. Others use such devices as well.
 * So a device becomes ours only if there is a directory of regions in it, or if the user names it.
 * Until then nothing is written there. A directory may come later than the device: devices without
 * a driver are looked at again and again.
 */
#define pr_fmt(fmt) "ringside: " fmt
#include "module.h"

#include <linux/io.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <ringside/directory.h>

#define VENDOR 0x1af4
#define DEVICE 0x1110
#define BAR 2
#define LOOK_MS 200 /* between two looks for a directory */

static char *device;
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "the ivshmem device to use, as in 0000:00:05.0; else the one with a "
			 "directory of Ringside");

/* The one that is ours. Two devices may be probed at the same time. */
static struct pci_dev *ours;
static DEFINE_MUTEX(changing);
static void *memory;

static bool is_named(struct pci_dev *dev)
{
	return device && !strcmp(device, pci_name(dev));
}

static bool has_directory(resource_size_t at)
{
	u64 *head = memremap(at, PAGE_SIZE, MEMREMAP_WB);
	bool yes = head && READ_ONCE(*head) == RS_DIRECTORY_MAGIC;

	if (head)
		memunmap(head);
	return yes;
}

static int use(struct pci_dev *dev, resource_size_t at, resource_size_t size)
{
	int err;

	memory = memremap(at, size, MEMREMAP_WB);
	if (!memory) {
		pr_err("%s: its memory of %llu KiB cannot be mapped\n", pci_name(dev),
		       (u64)size >> 10);
		return -ENODEV;
	}
	err = rs_agent_set_memory(memory, size, pci_name(dev));
	if (err) {
		memunmap(memory);
		return err;
	}
	rs_chardev_set_memory(memory, at, size);
	ours = dev;
	return 0;
}

static int take(struct pci_dev *dev)
{
	resource_size_t at = pci_resource_start(dev, BAR), size = pci_resource_len(dev, BAR);
	int err;

	if (ours || (device && !is_named(dev)))
		return -ENODEV;
	if (!at || size < PAGE_SIZE) {
		pr_warn_once("%s: BAR %d has no address: is it too large for its bus?\n",
			     pci_name(dev), BAR);
		return -ENODEV;
	}
	if (pci_enable_device(dev))
		return -ENODEV;
	err = is_named(dev) || has_directory(at) ? use(dev, at, size) : -ENODEV;
	if (err)
		pci_disable_device(dev);
	return err;
}

static int probe(struct pci_dev *dev, const struct pci_device_id *id)
{
	int err;

	mutex_lock(&changing);
	err = take(dev);
	mutex_unlock(&changing);
	return err;
}

static void remove(struct pci_dev *dev)
{
	bool gone = !pci_device_is_present(dev);

	mutex_lock(&changing);
	rs_chardev_take_memory(gone);
	rs_agent_take_memory(gone);
	memunmap(memory);
	pci_disable_device(dev);
	ours = NULL;
	mutex_unlock(&changing);
}

static const struct pci_device_id ids[] = {{PCI_DEVICE(VENDOR, DEVICE)}, {}};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver driver = {
	.name = "ringside",
	.id_table = ids,
	.probe = probe,
	.remove = remove,
};

/* ---- devices without a directory ---- */

static void look(struct work_struct *work);
static DECLARE_DELAYED_WORK(looking, look);

static void look(struct work_struct *work)
{
	struct pci_dev *dev = NULL;

	while (!READ_ONCE(ours) && (dev = pci_get_device(VENDOR, DEVICE, dev))) {
		/* Calls probe() under the device's lock, if nobody has the device. */
		if (device_attach(&dev->dev) > 0 && READ_ONCE(ours) == dev) {
			pci_dev_put(dev);
			break;
		}
	}
	queue_delayed_work(system_freezable_wq, &looking, msecs_to_jiffies(LOOK_MS));
}

/* It may be plugged in later, or be a mistake. */
static void warn_of_name(void)
{
	struct pci_dev *dev = NULL;

	while (device && (dev = pci_get_device(VENDOR, DEVICE, dev)))
		if (is_named(dev))
			break;
	if (device && !dev)
		pr_warn("there is no ivshmem device %s so far\n", device);
	pci_dev_put(dev);
}

int rs_pci_begin(void)
{
	int err = pci_register_driver(&driver);

	warn_of_name();
	if (!err)
		queue_delayed_work(system_freezable_wq, &looking, msecs_to_jiffies(LOOK_MS));
	return err;
}

void rs_pci_end(void)
{
	cancel_delayed_work_sync(&looking);
	pci_unregister_driver(&driver);
}
